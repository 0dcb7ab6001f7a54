"""A remedy's button label, and the change that it makes."""

from dataclasses import dataclass, replace

from app.core.settings import RoutingSettings
from app.ranking.gates import ON, PIN, Remedy

_TICKS = {ON: "Turn it on", PIN: "Pin it"}

_WORDS = {
    "delta": "Widen the cut to {:.2f}",
    "theta": "Lower the threshold to {:.2f}",
    "floor": "Lower the floor to {:.2f}",
    "k": "Raise top-k to {:,}",
    "token_budget": "Raise the budget to {:,}",
}


@dataclass(frozen=True, slots=True)
class SettingsRemedy:
    """A remedy that a button can carry out: other settings, a tick, a pin, or both of these."""

    words: str
    settings: RoutingSettings | None = None
    turn_on: bool = False
    pin: bool = False


def settings_remedy(remedy: Remedy | None, settings: RoutingSettings) -> SettingsRemedy | None:
    """The cure of a remedy; None where it takes more than a setting or a tick of this page."""
    if remedy is None:
        return None
    names = remedy.changes
    if set(names) <= _TICKS.keys():
        both = " and ".join(_TICKS[name] for name in names)
        words = both[0] + both[1:].replace("Pin it", "pin it")
        return SettingsRemedy(words, turn_on=ON in names, pin=PIN in names)
    if len(names) == 1 and names[0] in _WORDS:
        whole = isinstance(getattr(settings, names[0]), int)
        value = int(remedy.value) if whole else float(remedy.value)
        words = _WORDS[names[0]].format(value)
        return SettingsRemedy(words, settings=_with(settings, names[0], value))
    return None


def _with(settings: RoutingSettings, name: str, value: float) -> RoutingSettings:
    return replace(settings, **{name: value})  # type: ignore[arg-type]
