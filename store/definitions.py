"""Whether two definitions of a tool are the same, for all that a model or a user reads in them."""

import re

_PIECES = re.compile(r"\w+|[^\w\s]")


def same_definition(one: object, other: object) -> bool:
    """Whether two JSON values of a tool differ in nothing but the order of unordered things.

    Some servers join a set into a default (`a,b,c`), which comes in another order in every
    process. So lists of plain values, and commas' neighbours in a word of a text, have no order.
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
        words = value.split(" ")
        return [sorted(_PIECES.findall(word)) if "," in word else word for word in words]
    return value
