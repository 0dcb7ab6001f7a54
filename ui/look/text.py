"""Numbers, times and third-party texts as the window writes them everywhere."""

import time
from collections.abc import Iterable
from html import escape
from pathlib import Path

from app.core.text import visible as spelled_out

APPROX = "≈"


def count(number: int) -> str:
    """23800 -> 23,800."""
    return f"{number:,}"


def short(number: int) -> str:
    """23800 -> 23.8k."""
    if number < 1000:
        return str(number)
    if number < 100_000:
        return f"{number / 1000:.1f}k".replace(".0k", "k")
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1e6:.1f}M"


def tokens(number: int) -> str:
    """1412 -> 1,412 tokens ≈."""
    return f"{number:,} tokens {APPROX}"


def ago(seconds: float) -> str:
    """7300 seconds -> 2 h ago."""
    steps = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    words = (f"{int(seconds // size)} {unit} ago" for size, unit in steps if seconds >= size)
    return next(words, "just now")


def visible(text: str) -> str:
    """The text with its invisible characters written out, as ⟨U+200B⟩; lines stay lines."""
    return spelled_out(text, keep="\n\t")


def in_menu(text: str) -> str:
    """A text for a menu or a button, where a single & would underline the next letter."""
    return text.replace("&", "&&")


def plain_tip(text: str) -> str:
    """A tooltip's text as it is written: Qt takes what looks like HTML for it, as servers write."""
    if "<" not in text and "&lt;" not in text:
        return text
    return f"<qt>{_rich(text)}</qt>"


def html_table(rows: Iterable[tuple[str, str]]) -> str:
    """Names with what they mean, as rich text; both as they are written."""
    cells = "".join(
        f"<tr><td style='padding:3px 18px 3px 0'><b>{_rich(name)}</b></td>"
        f"<td style='padding:3px 0'>{_rich(text)}</td></tr>"
        for name, text in rows
    )
    return f"<table>{cells}</table>"


def _rich(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def moment(at: float) -> str:
    """The time of today, the day and the time of before."""
    then, today = time.localtime(at), time.localtime()
    if then[:3] == today[:3]:
        return time.strftime("%H:%M:%S", then)
    return f"{then.tm_mday} {time.strftime('%b %H:%M', then)}"


def with_tilde(path: Path, home: Path) -> str:
    """A path as people write it, below their home folder."""
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
