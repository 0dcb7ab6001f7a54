"""Checks of a profile's settings, applied where they are set and again where they are read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from app.catalog.availability import Conditions
from app.catalog.menu_tools import POOLS
from app.core.errors import ToolcribError
from app.core.settings import MOST_WEIGHT, PARTS, ProfileSettings, changed_parts, fits
from store.typed import JsonMapping, object_or_empty

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "new_tools": ("held", "on"),
    "budget.on_block": ("refuse", "ask", "report"),
    "budget.strategy": ("static", "dynamic", "split"),
    "routing.cut": ("relative", "theta"),
    "gateway.pool": POOLS,
    "gateway.slim": ("none", "lossless", "strong"),
    "gateway.secrets_out": ("warn", "ask", "refuse"),
    "gateway.passages_out": ("warn", "ask", "refuse"),
}
_KINDS = {
    bool: "true or false",
    int: "a whole number of at least 0",
    float: "a number",
    str: "a text",
    tuple: "a list of texts",
}


_LONGEST_SENT = 200_000  # characters of settings from elsewhere
_LARGEST_SENT = 10**9  # number in them
_LONGEST_SHOWN = 60  # characters of a value in a sentence


def check_change(old: ProfileSettings, new: ProfileSettings) -> None:
    """Raise ToolcribError with the key and what is allowed, if a setting that changed is wrong."""
    for key in changed_parts(old, new):
        problem = _problem(new, key)
        if problem:
            raise ToolcribError(f"{key} cannot be {_short(_value(new, key))}.", problem)


def check_sent(sent: JsonMapping) -> None:
    """Raise ToolcribError at the first setting in a form from elsewhere that cannot be used.

    Keys of a newer version pass, as long as the whole is short.
    """
    if len(json.dumps(sent)) > _LONGEST_SENT:
        raise ToolcribError(f"Settings are at most {_LONGEST_SENT:,} characters.")
    for key, value, default in _sent(sent):
        if not fits(value, default):
            allowed = _KINDS.get(type(default), "an object")
            raise ToolcribError(f"{key} cannot be {_short(value)}.", f"Allowed: {allowed}.")
        if isinstance(value, int | float) and abs(value) > _LARGEST_SENT:
            raise ToolcribError(f"{key} is too large.", f"Numbers go up to {_LARGEST_SENT:,}.")
    check_change(ProfileSettings(), ProfileSettings.from_json(sent))


def _sent(sent: JsonMapping) -> Iterator[tuple[str, object, object]]:
    """Key, value and default of the known settings in what was sent."""
    for part in fields(ProfileSettings):
        value = sent.get(part.name)
        if part.name == "other" or part.name not in sent:
            continue
        kind = PARTS.get(part.name)
        if kind is None:
            if part.name != "servers" or value is not None:
                default = () if part.name == "servers" else getattr(ProfileSettings(), part.name)
                yield part.name, value, default
            continue
        yield part.name, value, {}
        for one in fields(kind):
            if one.name in object_or_empty(value):
                key = f"{part.name}.{one.name}"
                yield key, object_or_empty(value)[one.name], getattr(kind(), one.name)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def unusable(stored: JsonMapping) -> tuple[str, ...]:
    """Sentences on stored settings that are not used, since they cannot be; defaults count."""
    return tuple(_unusable(stored))


def _unusable(stored: JsonMapping) -> Iterator[str]:
    for part, kind in PARTS.items():
        values = stored.get(part, {})
        if not isinstance(values, dict):
            yield f"{part} is no table of settings; the defaults are used."
            continue
        defaults = {f.name: getattr(kind(), f.name) for f in fields(kind)}
        for name, value in values.items():
            key = f"{part}.{name}"
            if name in defaults and not fits(value, defaults[name]):
                yield f"{key} cannot be {value!r}; {defaults[name]!r} is used."
            elif value not in _CHOICES.get(key, (value,)):
                yield f"{key} cannot be {value!r}. Allowed: {', '.join(_CHOICES[key])}."


def _problem(settings: ProfileSettings, key: str) -> str:
    """Allowed values of a setting whose value is wrong, in words; "" when it is right."""
    value = _value(settings, key)
    if key in _CHOICES:
        return "" if value in _CHOICES[key] else f"Allowed: {', '.join(_CHOICES[key])}."
    if key == "servers":
        return "" if value is None or fits(value, ()) else "Allowed: a list of servers, or null."
    if key == "preconditions":
        return " ".join(Conditions.of({}, value).problems)
    if key == "scopes":
        return " ".join(Conditions.of(value, {}).problems)
    default = _value(ProfileSettings(), key)
    if not fits(value, default):
        return f"Allowed: {_KINDS.get(type(default), 'what it was')}."
    if key.endswith("_weight") and not 0 <= value <= MOST_WEIGHT:
        return f"Weights go from 0 to {MOST_WEIGHT:g}."
    return ""


def _value(settings: ProfileSettings, key: str) -> Any:
    part, _, name = key.rpartition(".")
    return getattr(getattr(settings, part) if part else settings, name)
