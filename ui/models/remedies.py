"""What a remedy's button says, and what it changes."""

from dataclasses import dataclass, replace

from app.routing.ranked import Remedy
from app.settings import RoutingSettings

_TICKS = {"on": "Turn it on", "pinned": "Pin it"}


@dataclass(frozen=True, slots=True)
class Cure:
    """A remedy that a button can carry out: other settings, a tick, a pin, or both of these."""

    words: str
    settings: RoutingSettings | None = None
    turn_on: bool = False
    pin: bool = False


def cure_of(remedy: Remedy | None, settings: RoutingSettings) -> Cure | None:
    """The cure of a remedy; None where it takes more than a setting or a tick of this page."""
    if remedy is None:
        return None
    names = remedy.setting.split(",")
    if set(names) <= _TICKS.keys():
        both = " and ".join(_TICKS[name] for name in names)
        words = both[0] + both[1:].replace("Pin it", "pin it")
        return Cure(words, turn_on="on" in names, pin="pinned" in names)
    if len(names) == 1 and (changed := _changed(remedy, settings)):
        return Cure(_words(remedy), settings=changed)
    return None


def _changed(remedy: Remedy, settings: RoutingSettings) -> RoutingSettings | None:
    if remedy.setting == "delta":
        return replace(settings, delta=float(remedy.value))
    if remedy.setting == "theta":
        return replace(settings, theta=float(remedy.value))
    if remedy.setting == "floor":
        return replace(settings, floor=float(remedy.value))
    if remedy.setting == "k":
        return replace(settings, k=int(remedy.value))
    if remedy.setting == "token_budget":
        return replace(settings, token_budget=int(remedy.value))
    return None


def _words(remedy: Remedy) -> str:
    value = remedy.value
    if remedy.setting == "delta":
        return f"Widen the cut to {value:.2f}"
    if remedy.setting in ("theta", "floor"):
        noun = "threshold" if remedy.setting == "theta" else "floor"
        return f"Lower the {noun} to {value:.2f}"
    noun = "top-k" if remedy.setting == "k" else "the budget"
    return f"Raise {noun} to {value:,}"
