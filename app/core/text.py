"""Words for people: texts of others with what cannot be seen spelled out, and counted nouns."""

import re
import unicodedata
from collections.abc import Sequence

# Printable by Python's tables and yet drawn as nothing: Unicode's Default_Ignorable_Code_Point
# without the format characters, which are not printable, and the braille blank.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
_BLANKS = re.compile(f"[{_BLANK}\U000e0100-\U000e01ef]")
_EMOJI_STYLE = "\ufe0f"  # after a symbol it only asks for the colored picture


def visible(text: str, keep: str = "", form: str = "⟨U+{:04X}⟩") -> str:
    """The text with every character that is not drawn written out, as ⟨U+200B⟩.

    These are controls (C0 and C1), bidi and zero-width characters, odd blanks, lone surrogates
    and fillers. `keep` are characters to leave alone, usually line feed and tab.
    """
    if text.isprintable() and not _BLANKS.search(text):
        return text
    before = ("", *text)
    return "".join(
        char if _is_drawn(char, last) or char in keep else form.format(ord(char))
        for last, char in zip(before, text, strict=False)
    )


def _is_drawn(char: str, before: str) -> bool:
    if char == _EMOJI_STYLE:
        return bool(before) and unicodedata.category(before) == "So"
    return char.isprintable() and not _BLANKS.match(char)


def listed(names: Sequence[str], most: int = 8) -> str:
    """a, b, c -> "a, b and c"; of more than `most` names the first ones and how many more."""
    shown = list(names) if len(names) <= most else list(names[: most - 1])
    last = shown.pop() if len(shown) == len(names) else f"{len(names) - len(shown):,} more"
    return f"{', '.join(shown)} and {last}" if shown else last


def plural(number: int, word: str) -> str:
    """12, tool -> 12 tools; 2, query -> 2 queries."""
    if number == 1:
        return f"1 {word}"
    several = f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"
    return f"{number:,} {several}"
