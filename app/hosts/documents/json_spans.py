"""JSON and JSONC text as nodes that know their spans in the text."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from app.hosts.documents.json_plain import without_comments, without_trailing_commas
from store.typed import Json

_SPACE = re.compile(r"[ \t\r\n]+")
_LINE_COMMENT = re.compile(r"//[^\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
DEEPEST = 200  # levels of any document
_LINES_FASTER = 16  # times that counting lines is faster than reading
_EXPLAINED = 1_000_000  # characters of a text whose mistake is looked for part by part
_WASTED = 4  # times the text's length, read again because a part of it is not strict JSON


class JsonError(ValueError):
    """The text is not JSON; `line` counts from 1."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line


class Node:
    """A value with its span; its parts are looked at only when they are asked for."""

    __slots__ = ("_items", "_members", "_text", "_value", "end", "kind", "start")

    def __init__(self, kind: str, start: int, end: int = 0, value: Any = None) -> None:
        self.kind = kind  # object | array | string | number | word
        self.start = start
        self.end = end
        self._value = value
        self._members: list[Member] = []
        self._items: list[Node] = []
        self._text = ""  # set while the parts are not looked at

    @classmethod
    def closed(cls, text: str, start: int, end: int, value: object) -> "Node":
        """A strict JSON value whose parts are still to be looked at."""
        kinds: dict[type, str] = {dict: "object", list: "array", str: "string"}
        kind = "word" if value is None or isinstance(value, bool) else kinds.get(type(value))
        node = cls(kind or "number", start, end, value)
        node._text = text if node.kind in ("object", "array") else ""
        return node

    @property
    def members(self) -> "list[Member]":
        """The members of an object."""
        self._open()
        return self._members

    @property
    def items(self) -> "list[Node]":
        """The items of an array."""
        self._open()
        return self._items

    @property
    def scalar(self) -> Any:
        """The value of a text, number or word."""
        return self._value

    def value(self) -> object:
        """The Python value; of members with the same key the last counts."""
        if self.kind == "object" and self._value is None:
            return {member.key: member.node.value() for member in self._members}
        if self.kind == "array" and self._value is None:
            return [item.value() for item in self._items]
        return self._value

    def member(self, key: str) -> "Member | None":
        """The last member with this key."""
        return next((item for item in reversed(self.members) if item.key == key), None)

    def first_parts(self, most: int) -> "tuple[list[Member], list[Node]]":
        """The first members and items: a look at a long list does not read all of it."""
        if not self._text:
            return self._members[:most], self._items[:most]
        opened = _Reader(self._text).first_parts(self.start, most)
        return opened._members, opened._items

    def _open(self) -> None:
        if not self._text:
            return
        reader = _Reader(self._text)
        reader.at = self.start
        opened = reader.open(0)
        self._members, self._items, self._text = opened._members, opened._items, ""


@dataclass(slots=True)
class Member:
    """A key of an object and its value."""

    key: str
    start: int  # of the key
    node: Node


@dataclass(frozen=True, slots=True)
class JsonText:
    """A parsed text: its root, and what strict readers would not take."""

    text: str
    root: Node
    comments: bool
    trailing_commas: bool
    duplicates: tuple[str, ...]  # keys that occur twice in one object


def parse(text: str) -> JsonText:
    """The text as nodes; comments and trailing commas are taken and reported."""
    try:
        return _parsed(text, text)
    except (ValueError, RecursionError):
        plain = without_comments(text)
    comments = plain.blanked > 0
    try:
        if comments:
            return _parsed(text, plain.text, comments=True)
    except (ValueError, RecursionError):
        pass
    plain = without_trailing_commas(plain.text)
    try:
        return _parsed(text, plain.text, comments=comments, commas=plain.blanked > 0)
    except (ValueError, RecursionError) as error:
        if len(text) <= _EXPLAINED:
            _explain(text)
        if isinstance(error, json.JSONDecodeError):
            line = text.count("\n", 0, error.pos) + 1
            raise JsonError(error.msg.lower(), line) from error
        if isinstance(error, RecursionError):
            raise JsonError("nested too deeply", 1) from None
        raise JsonError("a value is no JSON", 1) from error


def _parsed(text: str, plain: str, *, comments: bool = False, commas: bool = False) -> JsonText:
    """The nodes of a text whose strict form, of the same length, is `plain`."""
    reader = _Reader(plain)
    reader.skip_blanks()
    start = reader.at
    value, end = reader.strict(plain, start)
    reader.at = end
    reader.skip_blanks()
    if reader.at < len(text):
        raise json.JSONDecodeError("text after the end of the value", plain, reader.at)
    twice = tuple(dict.fromkeys(reader.duplicates))
    return JsonText(text, Node.closed(plain, start, end, value), comments, commas, twice)


def _explain(text: str) -> None:
    """Raise the JsonError for a text that is no JSON, part by part: slowly and in our words."""
    reader = _Reader(text)
    reader.skip()
    reader.read(0)
    reader.skip()
    if reader.at < len(text):
        raise reader.error("text after the end of the value")


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.duplicates: list[str] = []
        self._wasted = 0  # characters read for nothing
        self.strict = json.JSONDecoder(
            object_pairs_hook=self._pairs, parse_constant=_no_constant
        ).raw_decode

    def error(self, what: str) -> JsonError:
        return JsonError(what, self.text.count("\n", 0, self.at) + 1)

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self) -> None:
        """Moves over white space and comments."""
        while True:
            if match := _SPACE.match(self.text, self.at):
                self.at = match.end()
            if match := _LINE_COMMENT.match(self.text, self.at):
                self.at = match.end()
            elif self.text.startswith("/*", self.at):
                end = self.text.find("*/", self.at + 2)
                if end < 0:
                    raise self.error("a comment is not closed")
                self.at = end + 2
            else:
                return

    def skip_blanks(self) -> None:
        """Moves over white space."""
        if match := _SPACE.match(self.text, self.at):
            self.at = match.end()

    def read(self, depth: int) -> Node:
        """The value that starts here: in one go if it is strict JSON, else part by part."""
        if depth > DEEPEST:
            raise self.error("nested too deeply")
        if self._wasted > _WASTED * len(self.text) and self.peek() in ("{", "["):
            return self.open(depth)
        seen = len(self.duplicates)
        try:
            value, end = self.strict(self.text, self.at)
        except (ValueError, RecursionError) as error:
            stopped = error.pos if isinstance(error, json.JSONDecodeError) else len(self.text)
            # such an error counts the lines of everything before it
            self._wasted += stopped - self.at + stopped // _LINES_FASTER
            del self.duplicates[seen:]
            return self.open(depth)
        node = Node.closed(self.text, self.at, end, value)
        self.at = end
        return node

    def open(self, depth: int) -> Node:
        """The value that starts here, with its parts."""
        first = self.peek()
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        if first == '"':
            self._string()
        if match := _NUMBER.match(self.text, self.at):
            self._number(match[0])
        raise self.error("a value is expected" if first else "the text ends too early")

    def first_parts(self, at: int, most: int) -> Node:
        """The object or array at `at` with its first parts, unfinished."""
        self.at = at
        node = Node("object" if self.peek() == "{" else "array", at)
        parts = self._members_of(node) if node.kind == "object" else self._items_of(node)
        for _ in islice(parts, most):
            pass
        return node

    def _pairs(self, pairs: list[tuple[str, Any]]) -> Json:
        members = dict(pairs)
        if len(members) < len(pairs):
            self._note_twice([key for key, _ in pairs])
        return members

    def _note_twice(self, keys: list[str]) -> None:
        self.duplicates += [key for key, count in Counter(keys).items() if count > 1]

    def _number(self, text: str) -> object:
        try:
            return json.loads(text)
        except ValueError as error:
            raise self.error("a number has too many digits") from error

    def _string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise self.error("a text in quotes is expected")
        try:
            value: str = json.loads(match[0])
        except ValueError as error:
            raise self.error("a text has a bad escape") from error
        self.at = match.end()
        return value

    def _object(self, depth: int) -> Node:
        node = Node("object", self.at)
        for _ in self._members_of(node, depth):
            pass
        keys = [member.key for member in node._members]
        if len(set(keys)) < len(keys):
            self._note_twice(keys)
        return node

    def _members_of(self, node: Node, depth: int = 0) -> Iterator[None]:
        """Reads a member before each stop."""
        for _ in self._parts(node, "}"):
            start = self.at
            key = self._string()
            self.skip()
            if self.peek() != ":":
                raise self.error("a colon is expected after a key")
            self.at += 1
            self.skip()
            node._members.append(Member(key, start, self.read(depth + 1)))
            yield

    def _array(self, depth: int) -> Node:
        node = Node("array", self.at)
        for _ in self._items_of(node, depth):
            pass
        return node

    def _items_of(self, node: Node, depth: int = 0) -> Iterator[None]:
        """Reads an item before each stop."""
        for _ in self._parts(node, "]"):
            node._items.append(self.read(depth + 1))
            yield

    def _parts(self, node: Node, close: str) -> Iterator[None]:
        """Stops before each member or item, then reads the comma or the end."""
        self.at += 1
        self.skip()
        while self.peek() != close:
            yield
            self.skip()
            if self.peek() == ",":
                self.at += 1
                self.skip()
            elif self.peek() != close:
                raise self.error(f"a comma or {close} is expected")
        self.at += 1
        node.end = self.at


def _no_constant(name: str) -> object:
    raise ValueError(name)  # NaN and Infinity are no JSON
