"""Lines of two texts next to each other, each entry beside itself and never beside another."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

Pair = tuple[str | None, str | None]  # a line before and after; None where a side has no line
Place = tuple[str, ...]  # the lines that enclose a line, as their keys
_SIGN = re.compile("[:=]")
_TABLE = re.compile(r"\[\[?[A-Za-z_]")  # of TOML; a list of JSON starts with none of these
_CLOSING, _OPENING = "]})", "[{("


def line_pairs(
    raw: tuple[Sequence[str], Sequence[str]], left: Sequence[str], right: Sequence[str]
) -> Iterator[Pair]:
    """Lines of both sides next to each other, as the raw ones correspond; None: no line there.

    A line is matched with one at the same place only: every server has an `"args": [` and
    brackets, and they must not tie one server's lines to another's.
    """
    places = (_places(raw[0]), _places(raw[1]))
    before, after = (list(zip(places[n], raw[n], strict=True)) for n in (0, 1))
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from zip(left[i1:i2], right[j1:j2], strict=True)
            continue
        ours = _keyed(places[0], raw[0], i1, i2)
        theirs = _keyed(places[1], raw[1], j1, j2)
        for same, a1, a2, b1, b2 in SequenceMatcher(
            None, ours, theirs, autojunk=False
        ).get_opcodes():
            olds, news = left[i1 + a1 : i1 + a2], right[j1 + b1 : j1 + b2]
            if same == "equal":
                yield from zip(olds, news, strict=True)
            else:  # what is new comes first: below twenty lines that go it would be out of sight
                yield from ((None, line) for line in news)
                yield from ((line, None) for line in olds)


def _keyed(
    places: Sequence[Place], lines: Sequence[str], first: int, end: int
) -> list[tuple[Place, str]]:
    return [(places[n], _key(lines, n)) for n in range(first, end)]


def _places(lines: Sequence[str]) -> list[Place]:
    """Headings above each line, by indentation; a closing bracket is below its own."""
    stack: list[tuple[int, str]] = []
    places = []
    for number, line in enumerate(lines):
        text = line.lstrip()
        closes = text[:1] in _CLOSING and bool(text)
        depth = -1 if _TABLE.match(text) else len(line) - len(text)
        while text and stack and stack[-1][0] >= depth + closes:
            stack.pop()
        places.append(tuple(key for _, key in stack))
        if closes and stack and stack[-1][0] == depth:
            stack.pop()
        elif text and not closes:
            stack.append((depth, _key(lines, number)))
    return places


def _key(lines: Sequence[str], number: int) -> str:
    """Subject of a line whatever its value: its key, its bracket, the start of an item."""
    text = lines[number].strip()
    if text[:1] == "-" or _TABLE.match(text):
        return text
    sign = _SIGN.search(text)
    key = text[: sign.start()].strip().strip("\"'") if sign else ""
    if key and not set(key) & set("\"'"):
        return key
    if text and text in _OPENING and number + 1 < len(lines):
        return text + lines[number + 1].strip()  # an item of a list is known by its first line
    return text.rstrip(",") if text[:1] in _CLOSING else ""
