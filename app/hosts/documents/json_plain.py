"""JSON with comments and trailing commas as plain JSON of the same length, in linear time."""

import re
from dataclasses import dataclass

_COMMENT = re.compile(
    r"""(?P<other>(?:[^"/]++|"(?:[^"\\]++|\\.)*+")++)|(?P<comment>//[^\r\n]*+|/\*.*?\*/)"""
    r"""|(?P<rest>(?:"|/\*).*+)""",
    re.S,
)
_COMMA = re.compile(
    r"""(?P<other>(?:[^",]++|"(?:[^"\\]++|\\.)*+"|,(?![ \t\r\n]*+[}\]]))++)|(?P<comma>,)"""
    r"""|(?P<rest>".*+)""",
    re.S,
)
_SPACE = " \t\r\n"
_NO_VALUE = "[{:,"  # after these a comma is a mistake
_FIRST_LOOK = 64  # characters before a comma


@dataclass(frozen=True, slots=True)
class Plain:
    """A text whose comments or commas are blanks, and the number of them."""

    text: str
    blanked: int


def without_comments(text: str) -> Plain:
    """The text with blanks for its comments; what is not closed stays."""
    count = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal count
        if match.lastgroup != "comment":
            return match[0]
        count += 1
        return " " * len(match[0])

    return Plain(_COMMENT.sub(replaced, text), count)


def without_trailing_commas(text: str) -> Plain:
    """A text without comments with blanks for the commas after a last member or item."""
    count = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal count
        if match.lastgroup != "comma" or _before(text, match.start()) in _NO_VALUE:
            return match[0]
        count += 1
        return " "

    return Plain(_COMMA.sub(replaced, text), count)


def _before(text: str, at: int) -> str:
    """The last character before `at` that is no blank; "" where there is none."""
    look = _FIRST_LOOK
    while True:
        start = max(0, at - look)
        seen = text[start:at].rstrip(_SPACE)
        if seen or not start:
            return seen[-1:]
        look *= 4
