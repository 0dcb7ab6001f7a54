"""Command lines with the characters of credentials masked and nothing else.

What the store keeps may hide more than a credential (app.secrets.credentials); a person who agrees
to a command must see all that runs. So a mask ends where a shell would go on: `API_KEY=x; rm -rf`
is shown as `API_KEY=••••; rm -rf`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath, PureWindowsPath

from app.secrets.credentials import MASK, VENDOR_SHAPES, hide_in_args, is_secret_name, mask
from app.secrets.plain_values import is_interpolation

# Programs that run their arguments as code; with one of them a masked word may be what runs.
_INTERPRETERS = frozenset(
    word
    for line in (
        "sh bash zsh dash ash ksh mksh fish tcsh csh busybox toybox cmd powershell pwsh wsl",
        "python pypy ipython node nodejs deno bun tsx ts-node perl ruby php lua luajit Rscript",
        "julia osascript env eval exec xargs awk gawk mawk sed find ssh su sudo doas watch",
        "parallel timeout nice nohup setsid script expect tclsh groovy jshell elixir erl ghci make",
        "git vim emacs mshta wscript cscript rundll32 start flock chroot unshare nsenter",
        "strace gdb",
    )
    for word in line.split()
)
_EXPANDS = re.compile(r"[$`%^]|\beval\b|\bexec\b|<\(")
_HEADER_FLAGS = frozenset({"--header", "-H", "--headers"})
_SHAPES = VENDOR_SHAPES + r"|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
_SCHEME = r"(?:(?:Bearer|Basic|Token) )?"
# Every repetition starts at the edge of a run only, so that a long hostile text costs linear time.
_NAME = r"[A-Za-z_][\w.-]*"
_IN_TEXT = re.compile(
    rf"(?P<shape>{_SHAPES})"
    r"|(?P<scheme>\b(?:Bearer|Basic) )(?P<credential>[^\s\"',${};|&()<>`]{6,})"
    r"|(?P<user>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@\s:;|&()<>`$\"']*:)?)"
    r"(?P<password>[^/?#@\s;|&()<>`$\"']+)(?=@)"
    rf"|(?P<name>(?<![\w.-])(?:--?)?{_NAME})"
    rf"(?P<sep>\\?[\"']?\s?[=:]\s?{_SCHEME}|(?<=\w)[\"']\s?,\s?(?=[\"'])|(?<=\w)[ \t]+)"
    rf"(?P<open>\\?[\"']?{_SCHEME})"
)
_WHOLE_PASSWORD = re.compile(
    r"^(?P<head>[A-Za-z][A-Za-z0-9+.-]*://[^/?#@:]*:)(?P<value>[^/?#]+)(?=@)"
)
_FLAG = re.compile(rf"(?s)^(?P<name>--?[A-Za-z][\w.-]*|{_NAME})(?P<sep>[=:])(?P<value>.+)$")
_HEADER = re.compile(
    r"(?s)^(?P<name>[A-Za-z0-9-]+\s*[:=]\s*(?:(?:Bearer|Basic|Token) )?)(?P<value>.+)$"
)
_LEAD = re.compile(rf"[ \t]*['\"]?{_SCHEME}")
_RUN = re.compile(r"[^\s\"'${};|&()<>`#]*")
_RANDOM_LENGTH = 16


def masked_words(words: Sequence[str], downloads: Iterable[str]) -> list[str]:
    """The words of a command line, each with its credentials' own characters as dots.

    `downloads` name what it fetches and runs, which is shown.
    """
    context = _Context.of(words)
    shown: list[str] = []
    stored = hide_in_args(words, [])
    runs = " ".join((*words[:1], *downloads))
    flag = ""
    for place, word in enumerate(words):
        new = context.after(flag, word) if flag else context.word(word)
        unnamed = new == word and len(word) >= _RANDOM_LENGTH
        if unnamed and word not in runs and not context.may_run(word):
            new = mask(stored[place])  # a value of no known name or shape, which runs nothing
        shown.append(new)
        takes_value = word.startswith("-") and (word in _HEADER_FLAGS or is_secret_name(word))
        flag = word if takes_value and word != flag else ""
    return shown


@dataclass(frozen=True, slots=True)
class _Context:
    """Meaning that the other words of the line give to a word."""

    code: bool  # an interpreter is among them, so that a word may run
    expands: bool  # code that puts other words' texts in its own

    @classmethod
    def of(cls, words: Sequence[str]) -> "_Context":
        code = any(_program(word) in _INTERPRETERS for word in words)
        return cls(code, code and any(_EXPANDS.search(word) for word in words))

    def after(self, flag: str, word: str) -> str:
        """The value of a flag that carries a credential."""
        if word.startswith("--") or is_interpolation(word):
            return self.word(word)
        return self._header(word) if flag in _HEADER_FLAGS else self._value(word)

    def word(self, word: str) -> str:
        """Any other word."""
        match = _FLAG.match(word)
        if match and match["name"] in _HEADER_FLAGS:
            return f"{match['name']}{match['sep']}{self._header(match['value'])}"
        if match and is_secret_name(match["name"]) and not is_interpolation(match["value"]):
            shown = self._value(match["value"], whole=";" not in match["value"])
            return f"{match['name']}{match['sep']}{shown}"
        if not self._is_code(word) and (url := _WHOLE_PASSWORD.match(word)):
            return f"{url['head']}{MASK}{self._text(word[url.end() :])}"
        return self._text(word)

    def _header(self, text: str) -> str:
        match = _HEADER.match(text)
        if match is None:
            return self._value(text)
        if is_interpolation(match["value"]):
            return text
        return f"{match['name']}{self._value(match['value'])}"

    def _value(self, value: str, *, whole: bool = True) -> str:
        """A credential, and what follows it where a shell or a list of settings goes on.

        `whole`: without code and blanks all of the value is the credential.
        """
        if whole and not self._is_code(value):
            return MASK
        lead = _LEAD.match(value)
        start = lead.end() if lead else 0
        run = _run(value, start)
        return f"{value[:start]}{self._mask(run)}{self._text(value[start + len(run) :])}"

    def _text(self, text: str) -> str:
        """The text with the credentials in it masked, found by their names and shapes."""
        shown: list[str] = []
        start = 0
        while match := _IN_TEXT.search(text, start):
            masked, end = self._masked(match)
            shown += (text[start : match.start()], masked)
            start = end
        return "".join((*shown, text[start:]))

    def _masked(self, match: re.Match[str]) -> tuple[str, int]:
        """Replacement of a match, and the index at which the text goes on."""
        if match["shape"]:
            return MASK, match.end()
        if match["scheme"]:
            return f"{match['scheme']}{MASK}", match.end()
        if match["user"]:
            plain = is_interpolation(match["password"])
            return match[0] if plain else f"{match['user']}{MASK}", match.end()
        by_blank = not match["sep"].strip("\"', \t") and not match["name"].startswith("-")
        if by_blank or not is_secret_name(match["name"]):
            return match["name"], match.end("name")  # what follows may be a name itself
        value = _run(match.string, match.end())
        if is_interpolation(value):
            return match["name"], match.end("name")
        return f"{match[0]}{self._mask(value)}", match.end() + len(value)

    def _mask(self, run: str) -> str:
        """Dots for a run of characters that can only be a credential; itself if it could run."""
        if not run:
            return ""
        if self.expands and not _looks_random(run):
            return run
        return run if self.code and run.startswith(("/", "./", "../", "~")) else MASK

    def may_run(self, word: str) -> bool:
        """True if what a word names may be run, so that the person must see it."""
        return (
            self._is_code(word)
            or word.startswith(("/", "./", "../", "~", "\\"))
            or word[1:2] == ":"
        )

    def _is_code(self, text: str) -> bool:
        return self.code or any(char.isspace() for char in text)


def _run(text: str, start: int) -> str:
    """The characters from there on that a shell takes for one word."""
    match = _RUN.match(text, start)
    return match[0] if match else ""


def _looks_random(text: str) -> bool:
    """True if a text is as long and mixed as only generated values are."""
    mixed = sum(char.isdigit() for char in text) >= 2 and any(char.isalpha() for char in text)
    return len(text) >= _RANDOM_LENGTH and mixed and not set("./\\") & set(text)


def _program(word: str) -> str:
    path = PureWindowsPath(word) if "\\" in word else PurePath(word)
    return re.sub(r"(?i)\.(exe|cmd|bat)$|(?<=[^\d.])[\d.]+$", "", path.name) or path.name
