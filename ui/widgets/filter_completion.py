"""Completions of a filter line while it is typed: keys, the states of is:, present values."""

from collections.abc import Callable, Iterable, Sequence

_MOST = 12
_EXAMPLES = {
    "tokens": (">500", ">1k", "200..800"),
    "calls": ("0", ">5"),
    "used": ("never", "<7d", ">30d"),
}
Values = Callable[[str], Iterable[str]]  # a key's values in what is shown


def completions(
    text: str, cursor: int, *, keys: Sequence[str], states: Sequence[str], values: Values
) -> tuple[int, list[str]]:
    """Start of the term at the cursor, and the completions from there up to the cursor."""
    start = _term_start(text[:cursor])
    term = text[start:cursor]
    sign, body = ("-", term[1:]) if term.startswith("-") else ("", term)
    key, colon, typed = body.partition(":")
    if not colon:
        offered = _keys(body.lower(), keys, states)
    elif key.lower() in keys:
        head, comma, last = typed.rpartition(",")
        pool = _pool(key.lower(), states, values)
        matching = _matching(last.strip('"').lower(), pool)
        offered = [f"{key}:{head}{comma}{_quoted(value)}" for value in matching]
    else:
        offered = []
    return start, [f"{sign}{one}" for one in offered if one != body][:_MOST]


def _term_start(text: str) -> int:
    """After the last space that no quotation marks enclose."""
    start, quoted = 0, False
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif letter == " " and not quoted:
            start = place + 1
    return start


def _keys(word: str, keys: Sequence[str], states: Sequence[str]) -> list[str]:
    if not word:
        return []
    named = [f"{key}:" for key in keys if key.startswith(word)]
    return [*named, *(f"is:{state}" for state in states if state.startswith(word))]


def _pool(key: str, states: Sequence[str], values: Values) -> Iterable[str]:
    if key == "is":
        return states
    return _EXAMPLES[key] if key in _EXAMPLES else values(key)


def _matching(word: str, pool: Iterable[str]) -> list[str]:
    """Those that begin with the word, then those that hold it; each once."""
    known = dict.fromkeys(pool)
    holding = [value for value in known if word in value.lower()]
    return sorted(holding, key=lambda value: not value.lower().startswith(word))


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value
