"""Command lines in the words of a shell: written for people and hosts' files, read, and run.

Windows has no list of arguments, only one line that each program takes apart itself, as
CommandLineToArgvW does; `.cmd` and `.bat` files get it through cmd.exe, which reads it first.
"""

import re
import shlex
import sys
from collections.abc import Sequence

from app.core.errors import ToolcribError

WINDOWS = sys.platform == "win32"
_PLAIN = re.compile(r"[\w+=:./\\~*?-]+")  # to cmd.exe, PowerShell and programs alike
_PIECE = re.compile(r"""(?P<marks>\\*")|(?P<blank>\s)|\\+|[^\s"\\]+""")
_CMD_READS = re.compile(r"""[()\][%!^"`<>&|;, *?]""")


def quoted(word: str, *, windows: bool = WINDOWS) -> str:
    """Return one word as it is typed."""
    if not windows:
        return shlex.quote(word)
    return word if _PLAIN.fullmatch(word) else _in_quotes(word)


def joined(words: Sequence[str], *, windows: bool = WINDOWS) -> str:
    """Return a command and its arguments on one line, as they are typed."""
    return " ".join(quoted(word, windows=windows) for word in words)


def split(line: str, *, windows: bool = WINDOWS) -> list[str]:
    """Return the words of a line; ValueError where a quotation mark is not closed."""
    if not windows:
        return shlex.split(line)
    words: list[str] = []
    word: str | None = None
    is_open = False
    for piece in _PIECE.finditer(line):
        if piece["marks"]:
            half, literal = divmod(len(piece[0]) - 1, 2)
            word = (word or "") + "\\" * half + '"' * literal
            is_open ^= not literal
        elif piece["blank"] and not is_open:
            words += [] if word is None else [word]
            word = None
        else:
            word = (word or "") + piece[0]
    if is_open:
        raise ValueError("a quotation mark is not closed")
    return words if word is None else [*words, word]


def started_by_cmd(program: str) -> bool:
    """True for a file that Windows starts by cmd.exe: npx.cmd, uvx.bat."""
    return program.lower().endswith((".cmd", ".bat"))


def cmd_line(shell: str, program: str, args: Sequence[str]) -> str:
    """Return the line that starts such a file with exactly these arguments.

    Every character that cmd.exe reads is escaped. Raises ToolcribError for a line end, which
    cannot be.
    """
    if any(end in word for word in (program, *args) for end in "\r\n\0"):
        raise ToolcribError(
            f"{program} cannot be started: Windows passes no line end to it.",
            "Take the line end out of its arguments.",
        )
    words = [program, *map(_in_quotes, args)]
    escaped = " ".join(_CMD_READS.sub(r"^\g<0>", word) for word in words)
    return f'{_in_quotes(shell)} /d /s /c "{escaped}"'


def _in_quotes(word: str) -> str:
    """A word for CommandLineToArgvW: backslashes count double before a quotation mark."""
    parts = [part + "\\" * (len(part) - len(part.rstrip("\\"))) for part in word.split('"')]
    return '"{}"'.format('\\"'.join(parts))
