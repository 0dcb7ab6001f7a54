"""Data on its way from one server to another: secrets, and passages of results.

Text alone does not distinguish an honest call from one that a poisoned result asked for. The data
of a call does: a value that looks like a secret, or a passage that another server returned in this
conversation, on its way to a tool that can send it out. Every step is linear in the text.
"""

import base64
import json
import re
import string
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

import re2

from app.safety.hidden import visible
from app.safety.rules import encodable
from store.typed import JsonMapping, object_or_empty

SECRET, PASSAGE = "secret", "passage"  # what is carried
_LONGEST = 2_000_000  # characters of one result that are remembered; a call is read whole
_MOST_SECRETS = 500  # remembered in one conversation
_MOST_BLOCKS = 20_000
_BLOCK = 8  # words; a passage is at least three blocks, found wherever it begins
_FEWEST_BLOCKS = 2
_PIECE = 16  # characters of a secret that give it away
_WORD = re.compile(r"\w+")
_WORD_CHARACTERS = string.ascii_letters + string.digits + "_"
_TO_BLANKS = {n: " " for n in range(128) if chr(n) not in _WORD_CHARACTERS}
_TO_NOTHING = dict.fromkeys([*_TO_BLANKS, ord("_")])
_ASCII = bytes(n if n < 128 else 32 for n in range(256))
_MARKS = re.compile(r"[\W_]+")
# how secrets of known services begin
_SHAPES: Mapping[str, re.Pattern[str]] = {
    beginning: re.compile(pattern)
    for pattern, beginnings in (
        (r"(?:sk|rk|pk)[-_](?:live|test|proj|ant|or)?[-_]?[A-Za-z0-9_-]{16,200}",
         ("sk-", "sk_", "rk-", "rk_", "pk-", "pk_")),
        (r"gh[pousr]_[A-Za-z0-9]{16,255}", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
        (r"github_pat_[A-Za-z0-9_]{20,255}", ("github_pat_",)),
        (r"glpat-[\w-]{16,100}", ("glpat-",)),
        (r"xox[abposr]-[A-Za-z0-9-]{10,250}",
         ("xoxa-", "xoxb-", "xoxp-", "xoxo-", "xoxs-", "xoxr-")),
        (r"(?:AKIA|ASIA)[A-Z0-9]{16}\b", ("AKIA", "ASIA")),
        (r"AIza[\w-]{30,60}", ("AIza",)),
        (r"ya29\.[\w-]{20,400}", ("ya29.",)),
        (r"npm_[A-Za-z0-9]{30,60}", ("npm_",)),
        (r"hf_[A-Za-z0-9]{20,60}", ("hf_",)),
        (r"pypi-[\w-]{30,400}", ("pypi-",)),
        (r"SG\.[\w-]{16,40}\.[\w-]{16,80}", ("SG.",)),
        # from where its run of characters begins, so that none is read twice
        (r"(?<![\w-])(?=[\w-]*eyJ)[\w-]{13,}+\.eyJ[\w-]{10,}+\.[\w-]{5,}+", ("eyJ",)),
        (r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{20,6000}", ("-----BEGIN",)),
    )
    for beginning in beginnings
}  # fmt: skip
# "password: hunter2", API_KEY=..., "token": "..."; matched in lower case, which is faster
_NAME = (
    r"(?:pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?key|private[_-]?key|token"
    r"|credentials?)[\"']?[ \t]{0,3}(?:[:=]|is)"
)
_NAMED = re.compile(_NAME + r"[ \t]{0,3}[\"']?(?P<value>[^\s\"',;<>&]{8,300})")
# one look over the text: most have nothing, and need none of the patterns above
_ANY_SECRET = re2.compile("|".join([f"(?i:{_NAME})", *map(re.escape, _SHAPES)]))
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:pass(?:word|wd|phrase|code)|secret|api_?key|access_?key|private_?key|token"
    r"|credentials?|pin|otp|cvv|cvc|card_number|seed_phrase)(?:_|$)"
)
# what is called a token and is none: "nextPageToken", "csrf_token", counts
_NO_SECRET = re.compile(
    r"(?:page|next|cursor|sync|continuation|csrf|max|total|prompt|completion|input|output|id)"
    r"[_-]?$",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"^[<{\[$*x.]|^(?:your|my|the|example|none|null|true|false)\b|\*{3}", re.I
)
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{16,}")
_HEX = re.compile(r"[0-9A-Fa-f]{32,}")
_FROM_URLS = str.maketrans("-_", "+/")
_SENDS = re.compile(
    r"(?:^|_)(?:send|post|publish|upload|share|mail|email|message|notify|push|forward|invite"
    r"|reply|comment|tweet|webhook|http|https|request|fetch|curl|browse|navigate|visit|open|submit"
    r"|export|sync|transfer|pay|url)(?:_|$)"
)
_RECEIVER = re.compile(
    r"(?:^|_)(?:url|uri|href|endpoint|webhook|to|recipients?|emails?|cc|bcc|channel|host|address"
    r"|destination|phone|chat)(?:_|$)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Flow:
    """Data that a call would send out: its kind, the tool that gets it, the server it came from."""

    kind: str  # SECRET | PASSAGE
    tool: str  # server/tool that would get it
    source: str  # the server it came from, "" when it is not known

    @property
    def sentence(self) -> str:
        """Sentence for the journal, without the value."""
        what = "A value that looks like a secret" if self.kind == SECRET else "Text"
        origin = f" from a result of {visible(self.source)}" if self.source else ""
        return f"{what}{origin} is on its way to {visible(self.tool)}, which can send it out."


class DataFlow:
    """Results that one conversation has seen, by server; not for several threads."""

    def __init__(self) -> None:
        self._secrets: OrderedDict[str, str] = OrderedDict()  # without marks -> server
        self._blocks: OrderedDict[int, str] = OrderedDict()  # of words -> server
        self._servers: set[str] = set()  # whose results were read

    def note_result(self, server: str, result: JsonMapping) -> None:
        """Remember the secrets and passages of a result of tools/call."""
        self._servers.add(server)
        for text in _texts(result):
            for secret in secret_values(text):
                self._secrets.setdefault(_bare(secret), server)
            words = _words(text)
            for start in range(0, len(words) - _BLOCK + 1, _BLOCK):
                self._blocks.setdefault(hash(tuple(words[start : start + _BLOCK])), server)
        while len(self._secrets) > _MOST_SECRETS:
            self._secrets.popitem(last=False)
        while len(self._blocks) > _MOST_BLOCKS:
            self._blocks.popitem(last=False)

    def look(self, server: str, tool: JsonMapping, arguments: object) -> Flow | None:
        """Return the data that a call of this server's tool would send out; None for none.

        A secret goes back to the server that gave it without a word.
        """
        return self.carried(server, str(tool.get("name")), arguments) if can_send(tool) else None

    def carried(self, server: str, name: str, arguments: object) -> Flow | None:
        """Data that a call of a tool that can send would carry; None for none."""
        tool_id = f"{server}/{name}"
        text = "\n".join(_written(arguments))
        source = self._secret_source(text)
        if source is not None:
            return None if source == server else Flow(SECRET, tool_id, source)
        source = self._passage_source(text, server)
        return Flow(PASSAGE, tool_id, source) if source else None

    def _secret_source(self, text: str) -> str | None:
        """The server whose secret the text carries, "" for a secret of no server; None for none."""
        whole = list(_readings(text))
        readings = [_bare(reading) for reading in whole] if self._secrets else []
        for secret, server in self._secrets.items():
            pieces = {secret[:_PIECE], secret[-_PIECE:]}
            if any(piece in reading for reading in readings for piece in pieces):
                return server
        return "" if any(secret_values(reading) for reading in whole) else None

    def _passage_source(self, text: str, server: str) -> str:
        """Another server whose words the text repeats, "" for none."""
        if self._servers <= {server}:
            return ""
        words = _words(text)
        matches: dict[str, int] = {}
        for start in range(len(words) - _BLOCK + 1):
            source = self._blocks.get(hash(tuple(words[start : start + _BLOCK])))
            if source is not None and source != server:
                matches[source] = matches.get(source, 0) + 1
        return max((s for s, n in matches.items() if n >= _FEWEST_BLOCKS), default="")


def can_send(tool: JsonMapping) -> bool:
    """True if a tool can carry data out: by its annotation, else by its name or its arguments."""
    is_open = object_or_empty(tool.get("annotations")).get("openWorldHint")
    if isinstance(is_open, bool):
        return is_open
    if _SENDS.search(snake(str(tool.get("name", "")))):
        return True
    names = object_or_empty(object_or_empty(tool.get("inputSchema")).get("properties"))
    return any(_RECEIVER.search(snake(str(name))) for name in names)


def secret_values(text: str) -> list[str]:
    """Values that look like secrets, by their shape or by the word before them."""
    places = list(islice(_ANY_SECRET.finditer(encodable(text)), _MOST_SECRETS))
    if not places:
        return []
    beginnings = {place.group() for place in places}
    if len(places) == _MOST_SECRETS:  # a flood of one kind hides no other
        beginnings |= _SHAPES.keys()
    values = _shaped(text, beginnings)
    if beginnings <= _SHAPES.keys():
        return values[:_MOST_SECRETS]
    lowered = text.lower()
    if len(lowered) != len(text):  # some capitals are two small letters: places would differ
        lowered = text
    for match in _NAMED.finditer(lowered):
        value = text[match.start("value") : match.end("value")]
        before = text[max(0, match.start() - 14) : match.start()]
        if not (_PLACEHOLDER.search(value) or value.isalpha() or _NO_SECRET.search(before)):
            values.append(value)
    return values[:_MOST_SECRETS]


def names_a_secret(name: str) -> bool:
    """True if a field of this name asks for a secret."""
    return bool(_SECRET_NAME.search(snake(name)))


def _shaped(text: str, beginnings: Iterable[str]) -> list[str]:
    patterns = {_SHAPES[beginning] for beginning in beginnings if beginning in _SHAPES}
    return [
        match.group()
        for pattern in patterns
        for match in pattern.finditer(text)
        if not (match.start() and text[match.start() - 1].isalnum())
    ]


def _readings(text: str) -> Iterator[str]:
    """The text, backwards, and what is encoded in it."""
    yield text
    yield text[::-1]
    plain = unquote(text) if "%" in text else text
    if plain != text:
        yield plain
    # a URL's path runs into the passage before it, so that it may begin at any place of four
    for passages, width, decode in (
        (_ENCODED.findall(plain.translate(_FROM_URLS)), 4, base64.b64decode),
        (_HEX.findall(plain), 2, bytes.fromhex),
    ):
        for start in range(width if passages else 0):
            yield " ".join(_decoded(passage[start:], width, decode) for passage in passages)


def _decoded(passage: str, width: int, decode: Callable[[str], bytes]) -> str:
    """The whole groups of `width` characters, decoded; bytes that are no ASCII become blanks."""
    return decode(passage[: len(passage) // width * width]).translate(_ASCII).decode("ascii")


def _bare(text: str) -> str:
    """Letters and digits only: marks and blanks between them hide nothing."""
    return text.translate(_TO_NOTHING) if text.isascii() else _MARKS.sub("", text)


def snake(name: str) -> str:
    """A name in small letters, its parts joined by underscores."""
    return re.sub(r"[^A-Za-z0-9]+", "_", _CAMEL.sub("_", name)).lower()


def _words(text: str) -> list[str]:
    """The words in small letters; a table is five times faster than a pattern."""
    folded = text.casefold()
    return folded.translate(_TO_BLANKS).split() if folded.isascii() else _WORD.findall(folded)


def _texts(value: JsonMapping) -> Iterable[str]:
    """The texts of a result, cut to what is read; media is left out."""
    content = value.get("content")
    if not isinstance(content, list):
        return [text[:_LONGEST] for text in _written(value)]
    texts: list[str] = []
    others: list[object] = []
    room = _LONGEST
    for item in content:
        text = item.get("text") if isinstance(item, dict) else None
        if isinstance(text, str):
            texts.append(text[: max(0, room)])
            room -= len(text)
        elif isinstance(item, dict) and "data" not in item:
            others.append(item)
    rest = {key: part for key, part in value.items() if key not in ("content", "isError")}
    if rest or others:
        texts += [text[:_LONGEST] for text in _written({**rest, "content": others})]
    return texts


def _written(value: object) -> list[str]:
    """A JSON value as one text, a name before its value."""
    if isinstance(value, str):
        return [value]
    try:
        written = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return []
    return [written.replace("\\n", "\n").replace('\\"', '"')]
