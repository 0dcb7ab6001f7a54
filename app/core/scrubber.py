"""Takes known secret values out of texts and JSON, in the encodings servers repeat them in.

Light on purpose: the gateway makes one at its start and pays for it once a server has secrets.
"""

import json
import re
import threading
from collections.abc import Callable, Iterable

from store.typed import Any

HIDDEN = "••••"
SHORTEST = 6  # characters; shorter values are found in ordinary text by chance
_SHORTEST_WORD = 4  # of a value that is hidden only where it is a word of its own
_LAYERS = 4  # JSON in a URL in JSON, and the JSON it is looked for in
_ESCAPES = "%&\\+"
# compiled at the first need, as every pattern here
_CODE = (
    r"%(?:25)*(?P<percent>[0-9A-Fa-f]{2})"
    r"|(?<!\\)\\+(?:u(?P<u>[0-9A-Fa-f]{4})|x(?P<x>[0-9A-Fa-f]{2})|(?P<plain>[^ux\\]))"
    r"|&#0*(?P<dec>\d{1,7});|&#[xX]0*(?P<hex>[0-9A-Fa-f]{1,6});|&(?P<name>amp|lt|gt|quot|apos);"
)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_NAMES = {character: name for name, character in _NAMED.items()}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_LETTERS = {character: letter for letter, character in _CONTROLS.items()}


class Scrubber:
    """Knows secret values and hides them; values may be added at any time, from any thread.

    A value is found as it is, JSON-escaped, URL-encoded, as HTML entities (also in part or
    twice), in base64 at every alignment and in hex. A value that is one plain word is hidden only
    where it is a word of its own, so that `postgres` does not rename `postgres_query`.
    """

    __slots__ = ("_adding", "_coded", "_forms", "_long", "_sources", "_values", "_words")

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._adding = threading.Lock()  # servers start at the same time
        self._values: frozenset[str] = frozenset()
        self._sources: tuple[Callable[[], Iterable[str]], ...] = ()
        self._long: tuple[str, ...] = ()  # those whose encodings are hidden too
        self._forms: tuple[str, ...] = ()  # literal, the longest first
        self._coded: tuple[str, ...] = ()  # base64 and hex
        self._words: re.Pattern[str] | None = None
        self.add(values)

    def __repr__(self) -> str:
        return f"Scrubber({len(self._values)} values)"

    @property
    def values(self) -> tuple[str, ...]:
        """The known values, for another process that must hide them too."""
        self._ask_sources()
        return tuple(self._values)

    def watch(self, source: Callable[[], Iterable[str]]) -> None:
        """Hide what the source knows as well, now and later: tokens that are renewed."""
        self._sources = (*self._sources, source)

    def _ask_sources(self) -> None:
        for source in self._sources:
            self.add(source())

    def add(self, values: Iterable[str]) -> None:
        """Hide these values too; those of fewer than 4 characters are ignored."""
        new = {value for value in map(str.strip, values) if len(value) >= _SHORTEST_WORD}
        if not new <= self._values:
            with self._adding:
                self._know(new)

    def _know(self, new: set[str]) -> None:
        every = self._values | new
        plain = [value for value in every if not _is_word(value)]
        words = every.difference(plain)
        self._long = _longest_first(value for value in every if len(value) >= SHORTEST)
        self._forms = _longest_first({*plain, *map(_escaped, plain)})
        self._coded = _longest_first({form for value in self._long for form in _coded(value)})
        either = "|".join(map(re.escape, _longest_first(words)))
        self._words = re.compile(rf"(?<!\w)(?:{either})(?!\w)") if words else None
        self._values = every

    def text(self, text: str) -> str:
        """The text with every known value hidden."""
        self._ask_sources()
        if not self._values or not text:
            return text
        for form in self._forms:
            if form in text:
                text = text.replace(form, HIDDEN)
        if self._words is not None:
            text = self._words.sub(HIDDEN, text)
        for form in self._coded:
            if form in text:
                text = _without_coded(text, form)
        return self._unescaped(text) if any(mark in text for mark in _ESCAPES) else text

    def json(self, value: Any) -> Any:
        """The JSON value with every known value hidden in its keys, texts and numbers."""
        self._ask_sources()
        if not self._values:
            return value
        text = json.dumps(value, ensure_ascii=False)
        return value if self.text(text) == text else self._json(value)

    def _json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return type(value)(self._json(item) for item in value)
        if isinstance(value, dict):
            return {self._key(name): self._json(item) for name, item in value.items()}
        return self._number(value)

    def _key(self, name: object) -> object:
        return self.text(name) if isinstance(name, str) else name

    def _number(self, value: Any) -> Any:
        """A number may be a secret as well: a PIN, a token of digits."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return HIDDEN if str(value) in self._values else value

    def _unescaped(self, text: str) -> str:
        """The text without escaped values, whole or in part."""
        plain = text
        for _ in range(_LAYERS):
            plain, before = _decoded(plain), plain
            if plain == before:
                break
            for value in self._long:
                if value in plain or (" " in value and value in plain.replace("+", " ")):
                    text = _without_spellings(text, value)
        return text


def _without_coded(text: str, form: str) -> str:
    """The text without the form and the neighbours that share bits with it.

    A pattern that begins with the neighbours would be tried at every character.
    """
    parts, end = [], 0
    for match in re.finditer(rf"{re.escape(form)}[\w+/-]?=*", text):
        before = text[end : match.start()]
        parts.append(before[:-2] + re.sub(r"[\w+/-]{1,2}\Z", "", before[-2:]))
        end = match.end()
    return HIDDEN.join((*parts, text[end:]))


def _without_spellings(text: str, value: str) -> str:
    """The text without the value in escapes; the value as a plain word stays."""
    # one backslash at most before the first character: runs of them must not be tried from each
    first = _spellings(value[0], f"{_BACKSLASH}?", _BACKSLASH)
    rest = (_spellings(one, f"{_BACKSLASH}*", f"{_BACKSLASH}+") for one in value[1:])
    pattern = "".join((first, *rest))
    kept = value if _is_word(value) else ""
    return re.sub(pattern, lambda match: match[0] if match[0] == kept else HIDDEN, text)


def _longest_first(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(values, key=len, reverse=True))


def _is_word(value: str) -> bool:
    """True if a value could be part of ordinary text: one word, or too short to be sure."""
    return value.isalpha() or len(value) < SHORTEST


def _escaped(value: str) -> str:
    return json.dumps(value)[1:-1]


def _coded(value: str) -> Iterable[str]:
    """Encodings of the value's bytes in base64 and hex, at every alignment."""
    import base64  # not needed before a server with secrets is started

    for data in {value.encode("utf-8", "replace"), _escaped(value).encode()}:
        yield data.hex()
        yield data.hex().upper()
        for before in range(3):
            text = base64.b64encode(b"\0" * before + data).decode()
            # without the characters that share bits with those before and behind
            core = text[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _decoded(text: str) -> str:
    """The text with one layer of escapes resolved; bytes in percent become characters."""
    raw = bytearray()
    end = 0
    for match in re.finditer(_CODE, text):
        raw += text[end : match.start()].encode("utf-8", "surrogatepass")
        raw += _meaning(match)
        end = match.end()
    raw += text[end:].encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "replace")


def _meaning(match: re.Match[str]) -> bytes:
    if match["percent"]:
        return bytes([int(match["percent"], 16)])
    if match["plain"]:
        return _CONTROLS.get(match["plain"], match["plain"]).encode("utf-8", "surrogatepass")
    if match["name"]:
        return _NAMED[match["name"]].encode()
    number = int(match["dec"] or "0") or int(match["u"] or match["x"] or match["hex"] or "0", 16)
    return chr(min(number, 0x10FFFF)).encode("utf-8", "surrogatepass")


_BACKSLASH = r"(?:\\|%(?:25)*5[cC])"


def _spellings(character: str, maybe: str, escaped: str) -> str:
    """A pattern for one character as it is or in any of the escapes, JSON in a URL as well.

    `maybe` and `escaped` match the backslashes that may, or must, precede it.
    """
    code, units = ord(character), character.encode("utf-16-be", "surrogatepass")
    pairs = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    octets = character.encode("utf-8", "replace")
    ways = [
        f"{maybe}{re.escape(character)}",
        maybe + "".join(f"%(?:25)*{_hex(octet, 2)}" for octet in octets),
        "".join(f"{escaped}u{_hex(pair, 4)}" for pair in pairs),
        f"&#0*{code};",
        f"&#[xX]0*(?i:{code:x});",
    ]
    if code < 256:
        ways.append(f"{escaped}x{_hex(code, 2)}")
    if character in _NAMES:
        ways.append(f"&(?:amp;)*{_NAMES[character]};")
    if character in _LETTERS:
        ways.append(f"{escaped}{_LETTERS[character]}")
    if character == " ":
        ways.append(r"\+")
    return f"(?:{'|'.join(ways)})"


def _hex(number: int, width: int) -> str:
    return f"(?i:{number:0{width}x})"
