"""A text as a model may take it: plain, with tricks of spelling undone, and decoded.

Every step is linear in the text; nothing here decides if a text is harmful.
"""

import base64
import binascii
import codecs
import html
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from urllib.parse import unquote

from app.safety.hidden import LOOK_ALIKES

PLAIN, RESPELLED, DECODED = "plain", "respelled", "decoded"
# format and private characters, and the marks that are stacked on letters (not those of scripts)
_INVISIBLE = re.compile(
    "[\u00ad\u0300-\u036f\u061c\u1ab0-\u1aff\u1dc0-\u1dff\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u20d0-\u20ff\ue000-\uf8ff\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e01ef\U000f0000-\U0010ffff]+"
)
_OTHER_LETTERS = re.compile("[\u0370-\u052f]")  # Greek and Cyrillic, where look-alikes are
_STACKED = re.compile("[\u0300-\u036f]+")
_DEPTH = 2  # an encoding inside an encoding
_MOST_UNPACKED = 20_000  # bytes
_MOST_DECODED = 64  # passages of one text that are decoded
_TAG_LETTERS = re.compile("[\U000e0020-\U000e007e]{4,4000}")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_#-])[A-Za-z0-9+/_-]{20,4000}={0,2}")
_BASE32 = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Z2-7]{24,4000}|[a-z2-7]{24,4000})={0,6}(?![A-Za-z0-9])"
)
# pieces of Base64 that are to be put together: set apart by quotes, commas, blanks or " + "
_PIECES = re.compile(
    r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9/]{8,200}(?:[\"'`,|\n ]|\+ ){1,6}){1,40}"
    r"[A-Za-z0-9+/]{4,200}={0,2}"
)
_PIECE = re.compile(r"[A-Za-z0-9/]{4,200}={0,2}")
_HEX = re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ ,:]?){10,4000}")
_DECIMALS = re.compile(r"(?<!\d)(?:\d{2,3}[ ,;]{1,2}){9,2000}\d{2,3}(?!\d)")
_BITS = re.compile(r"(?:[01]{8} ?){8,1000}")
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2}[^\s%]{0,40}){6,1000}")
_BEFORE_PERCENT = re.compile(r"[^\s%]{0,40}\Z")
_ESCAPED = re.compile(r"\\u\{?[0-9a-fA-F]{4,6}\}?|\\x[0-9a-fA-F]{2}")
_ENTITY = re.compile(r"&(?:#\d{2,7}|#x[0-9a-fA-F]{2,6}|[a-zA-Z]{2,10});")
_MARKUP = re.compile(r"<!--[^>]{0,200}-->|</?[a-zA-Z][^<>]{0,60}>|\*\*|__|[*`~|\\]")
# single letters with marks or blanks between them
_SPACED = re.compile(r"(?<!\w)(?:\w(?: {1,3}|[.\-_*·]| [|/] )){4,800}\w(?!\w)")
_MOST_LEFT_OUT = 300  # characters together, as of a comment
_LEET = str.maketrans("01345789@$!|", "oieastbgasil")
_LEET_L = re.compile(r"(?<=[aeu])ii")  # "a11", "te11": the digit is an l there
_LEET_WORD = re.compile(r"[\w@$!|]{3,40}")
_MIXED = re.compile(r"[A-Za-z][0134578@$!|]|[0134578@$!|][A-Za-z]")
_COMMON = (
    *("ignore", "disregard", "forget", "previous", "instruction", "secret", "user", "tell"),
    *("send", "read", "password", "system", "prompt", "from", "file", "contents", "with"),
)
# whole words of any English text, which as ciphers are no words
_LITTLE = ("the", "this", "that", "with", "from", "into", "your", "you", "not", "and", "all")
_ROT13 = [codecs.encode(word, "rot13") for word in _COMMON]
_BACKWARDS = [word[::-1] for word in _COMMON]
_ROT13_WORDS = frozenset(codecs.encode(word, "rot13") for word in _LITTLE)
_BACKWARDS_WORDS = frozenset(word[::-1] for word in _LITTLE) - {"ton", "dna", "lla"}
_WORDS = re.compile(r"[a-z]+")
_SHORT = 40  # characters of a text that is likely to be a name
_SHORTEST_CODE = 14  # characters of an encoded passage, and of words in a cipher
_ENOUGH = 3  # words that tell that a text is written in a cipher


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text."""

    kind: str  # PLAIN | RESPELLED | DECODED
    text: str
    written: str = ""  # the plain reading, of one that is respelled

    def as_written(self, start: int, end: int) -> str:
        """The part of the text, spelled as the reader of the tool sees it."""
        if not self.written:
            return self.text[start:end]
        places = _places(self.written, self.text)[start:end]
        return self.written[places[0] : places[-1] + 1] if places else ""


def views(text: str) -> tuple[View, ...]:
    """The plain reading first, then every other reading that differs from it."""
    return _views_of_name(text) if len(text) <= _SHORT else _views(text)


@lru_cache(maxsize=4096)
def _views_of_name(text: str) -> tuple[View, ...]:
    """The names in schemas are the same few in thousands of tools."""
    return _views(text)


def _views(text: str) -> tuple[View, ...]:
    shown = _shown(text)
    plain = _single_spaced(shown)
    readings = [View(PLAIN, plain)]
    respelled = _single_spaced(_respelled(shown))
    if respelled != plain:
        readings.append(View(RESPELLED, respelled, plain))
    decoded = dict.fromkeys(_decoded(text, plain, _DEPTH))
    readings += [View(DECODED, reading) for reading in decoded]
    return tuple(readings)


def _single_spaced(text: str) -> str:
    """Blanks of a line made one; line ends stay."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _shown(text: str) -> str:
    """The text as a reader sees it, blanks as they are."""
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match.group()), text)
    if "\\" in text:
        text = _ESCAPED.sub(_unescape, text)
    if not text.isascii():
        text = _TAG_LETTERS.sub("", text)
        normal = unicodedata.normalize("NFKC", text)
        text = _latin_words(_INVISIBLE.sub("", normal)).replace("’", "'")
    return text.replace("\r", "\n")


def _latin_words(text: str) -> str:
    """Look-alike letters made Latin: in mixed words, and in whole words of a Latin text."""
    if not _OTHER_LETTERS.search(text):
        return text
    words = re.split(r"(\W+)", text)
    foreign = any(_is_foreign(word) for word in words)
    return "".join(_latin(word, foreign) if not word.isascii() else word for word in words)


def _is_foreign(word: str) -> bool:
    """True if a word has letters of another script that look like no Latin ones."""
    changed = word.translate(LOOK_ALIKES)
    if changed.isascii() or any(c.isascii() and c.isalpha() for c in word):
        return False
    return any("\u0370" <= c <= "\u052f" for c in changed)


def _latin(word: str, foreign: bool) -> str:
    mixed = any(c.isascii() and c.isalpha() for c in word)
    changed = word.translate(LOOK_ALIKES)
    return changed if mixed or (changed.isascii() and not foreign) else word


def _respelled(text: str) -> str:
    """Spaced letters joined, digits in place of letters read as these, markup removed."""
    text = _MARKUP.sub("", text) if _MARKUP.search(text) else text
    if not text.isascii():
        text = _without_accents(text)
    text = _SPACED.sub(_join_letters, text)
    if _MIXED.search(text):
        text = _LEET_WORD.sub(_from_leet, text)
    return text


def _without_accents(text: str) -> str:
    return unicodedata.normalize("NFC", _STACKED.sub("", unicodedata.normalize("NFD", text)))


def _join_letters(match: re.Match[str]) -> str:
    """Letters joined to words; the wider kind of gap parts words, if there are two kinds."""
    run = match.group()
    marked = re.search(r"\w[.\-_*·]\w", run) is not None
    words = run.split(" ") if marked else re.split(r" {2,3}| [|/] ", run)
    return " ".join(re.sub(r"[\W_]", "", word) for word in words)


def _from_leet(match: re.Match[str]) -> str:
    word = match.group()
    digits = sum(c in "01345789@$!|" for c in word)
    letters = sum(c.isalpha() for c in word)
    if not digits or letters < 2 or digits > letters + 2 or (digits == 1 and word[-1].isdigit()):
        return word
    return _LEET_L.sub("ll", word.translate(_LEET))


@lru_cache(maxsize=8)
def _places(written: str, read: str) -> Sequence[int]:
    """The place in a text of each character of its respelled reading, which leaves some out."""
    forms = "".join(map(_form, written))
    places, place = [], -1
    for form in map(_form, read):
        later = forms.find(form, place + 1, place + _MOST_LEFT_OUT)
        place = max(place, later)
        places.append(max(place, 0))
    return places


@lru_cache(maxsize=4096)
def _form(char: str) -> str:
    """One character for all those that respelling makes the same."""
    letter = unicodedata.normalize("NFD", char)[0].translate(_LEET)
    return "i" if letter == "l" else letter


def _unescape(match: re.Match[str]) -> str:
    digits = match.group()[2:].strip("{}")
    point = int(digits, 16)
    return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else ""


def _decoded(text: str, plain: str, depth: int) -> Iterator[str]:
    """Decoded passages; only those that are readable text."""
    for match in _TAG_LETTERS.finditer(text):
        yield "".join(chr(ord(c) - 0xE0000) for c in match.group())
    if len(plain) < _SHORTEST_CODE:
        return
    for passages, decode in _CODES:
        for passage in islice(passages(plain), _MOST_DECODED):
            inner = _readable(decode, passage)
            if inner:
                yield inner
                if depth:
                    yield from _decoded("", inner, depth - 1)
    lowered = plain.lower()
    if _several(_ROT13, _ROT13_WORDS, lowered):
        yield codecs.encode(plain, "rot13")
    if _several(_BACKWARDS, _BACKWARDS_WORDS, lowered):
        yield plain[::-1]


def _several(parts: Sequence[str], words: frozenset[str], text: str) -> bool:
    """True if a few of these occur, inside words or as whole ones, as they do not by chance."""
    if sum(part in text for part in parts) >= _ENOUGH:
        return True
    return len(words.intersection(_WORDS.findall(text))) >= _ENOUGH


def _readable(decode: Callable[[str], bytes], passage: str) -> str:
    """The decoded passage if it is text of some length, else ""."""
    try:
        text = _unpacked(decode(passage)).decode("utf-8")
    except (ValueError, binascii.Error, zlib.error):
        return ""
    text = text.strip("\0\r\n\t ")
    if len(text) < 8 or not text.replace("\n", " ").replace("\t", " ").isprintable():
        return ""
    return text


def _unpacked(data: bytes) -> bytes:
    """Data out of gzip or zlib, as far as a text of an encoding may go."""
    if data[:2] == b"\x1f\x8b":
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _MOST_UNPACKED)
    if data[:1] == b"\x78" and len(data) > 2 and not (data[0] << 8 | data[1]) % 31:
        return zlib.decompressobj().decompress(data, _MOST_UNPACKED)
    return data


def _from_base64(passage: str) -> bytes:
    blob = passage.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(blob + "=" * (-len(blob) % 4), validate=True)


def _from_base32(passage: str) -> bytes:
    blob = passage.rstrip("=").upper()
    return base64.b32decode(blob + "=" * (-len(blob) % 8))


def _from_pieces(passage: str) -> bytes:
    """Base64 in pieces; words are none, as code has digits or capitals inside."""
    pieces = _PIECE.findall(passage)
    if not all(any(c.isdigit() or c.isupper() for c in piece[1:]) for piece in pieces[:-1]):
        raise ValueError("words")
    return _from_base64("".join(pieces))


def _from_hex(passage: str) -> bytes:
    return bytes.fromhex(re.sub(r"0x|\\x|[ ,:]", "", passage))


def _from_decimals(passage: str) -> bytes:
    return bytes(int(number) for number in re.findall(r"\d+", passage))


def _from_bits(passage: str) -> bytes:
    return bytes(int(byte, 2) for byte in re.findall(r"[01]{8}", passage))


def _from_percent(passage: str) -> bytes:
    return unquote(passage).encode()


def _matches(pattern: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    return lambda text: (match.group() for match in pattern.finditer(text))


def _percent_passages(text: str) -> Iterator[str]:
    """Passages with their beginning, which is looked for from the first "%" back.

    A pattern that begins with it tries 40 letters at each place of a text: .3 s for a megabyte.
    """
    for match in _PERCENT.finditer(text):
        before = text[max(match.start() - 40, 0) : match.start()]
        beginning = _BEFORE_PERCENT.search(before)
        yield (beginning.group() if beginning else "") + match.group()


_CODES: tuple[tuple[Callable[[str], Iterator[str]], Callable[[str], bytes]], ...] = (
    (_matches(_BASE64), _from_base64),
    (_matches(_BASE32), _from_base32),
    (_matches(_PIECES), _from_pieces),
    (_matches(_HEX), _from_hex),
    (_matches(_DECIMALS), _from_decimals),
    (_matches(_BITS), _from_bits),
    (_percent_passages, _from_percent),
)
