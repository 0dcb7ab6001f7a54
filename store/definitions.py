"""Comparison of two definitions of a tool by all that a model or a user reads in them."""

import re

# patterns are compiled at the first need: a gateway's start has none for them
# names joined by commas alone, as a word of a text: with marks around, as in ('a,b').
_NAME = r"[*\w](?:[\w.*/-]*[\w*])?"
_QUOTED = rf"(['\"`]){_NAME}\1(?:, ?\1{_NAME}\1)+"  # a set as Python writes it
_JOINED = rf"([^\w*]*)({_NAME}(?:,{_NAME})+)([^\w*]*)"


def same_definition(one: object, other: object) -> bool:
    """True if two JSON values of a tool differ in nothing but the order of unordered things.

    Some servers join a set into a default (`a,b,c`), which comes in another order in every
    process. So lists of plain values have no order, nor have names that commas join into a word
    and quoted names with commas between; anything else in a text has, or `allow:a,deny:b` would
    be `allow:b,deny:a`.
    """
    try:
        return bool(one == other or _unordered(one) == _unordered(other))
    except RecursionError:
        return False


def _unordered(value: object) -> object:
    if isinstance(value, dict):
        return {name: _unordered(item) for name, item in value.items()}
    if isinstance(value, list):
        items = [_unordered(item) for item in value]
        plain = not any(isinstance(item, dict | list) for item in value)
        return sorted(items, key=repr) if plain else items
    if isinstance(value, str) and "," in value:
        value = re.sub(_QUOTED, _sorted_names, value)
        return [_names(word) for word in value.split(" ")]
    return value


def _sorted_names(match: re.Match[str]) -> str:
    return ",".join(sorted(re.split(", ?", match[0])))


def _names(word: str) -> object:
    match = re.fullmatch(_JOINED, word) if "," in word else None
    return (match[1], sorted(match[2].split(",")), match[3]) if match else word
