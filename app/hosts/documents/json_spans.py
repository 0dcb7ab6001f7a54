"""JSON and JSONC text as nodes that know where they stand in the text."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]+")
_LINE_COMMENT = re.compile(r"//[^\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
_DEEPEST = 200


class JsonError(ValueError):
    """The text is not JSON; `line` counts from 1."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line


@dataclass(slots=True)
class Node:
    """A value with its span; `members` of an object, `items` of an array."""

    kind: str  # object | array | string | number | word
    start: int
    end: int = 0
    scalar: Any = None
    members: "list[Member]" = field(default_factory=list)
    items: "list[Node]" = field(default_factory=list)
    trailing: bool = False  # a comma stands after the last member or item

    def value(self) -> Any:
        """The Python value; of members with the same key the last counts."""
        if self.kind == "object":
            return {member.key: member.node.value() for member in self.members}
        if self.kind == "array":
            return [item.value() for item in self.items]
        return self.scalar

    def member(self, key: str) -> "Member | None":
        """The last member with this key."""
        return next((item for item in reversed(self.members) if item.key == key), None)


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

    def duplicates(self) -> tuple[str, ...]:
        """Keys that stand twice in one object, as dotted paths."""
        return tuple(_duplicates(self.root, ""))


def parse(text: str) -> JsonText:
    """The text as nodes; comments and trailing commas are taken and reported."""
    reader = _Reader(text)
    reader.skip()
    root = reader.read(0)
    reader.skip()
    if reader.at < len(text):
        raise reader.error("text after the end of the value")
    return JsonText(text, root, reader.comments, reader.trailing)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.comments = False
        self.trailing = False

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
            self.comments = True

    def read(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.error("nested too deeply")
        first = self.peek()
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        start = self.at
        if first == '"':
            return Node("string", start, scalar=self._string(), end=self.at)
        if match := _NUMBER.match(self.text, self.at):
            self.at = match.end()
            return Node("number", start, self.at, self._number(match[0]))
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return Node("word", start, self.at, value)
        raise self.error("a value is expected" if first else "the text ends too early")

    def _number(self, text: str) -> Any:
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
        for _ in self._parts(node, "}"):
            start = self.at
            key = self._string()
            self.skip()
            if self.peek() != ":":
                raise self.error("a colon is expected after a key")
            self.at += 1
            self.skip()
            node.members.append(Member(key, start, self.read(depth + 1)))
        return node

    def _array(self, depth: int) -> Node:
        node = Node("array", self.at)
        for _ in self._parts(node, "]"):
            node.items.append(self.read(depth + 1))
        return node

    def _parts(self, node: Node, close: str) -> Iterator[None]:
        """Stops before each member or item, then reads the comma or the end."""
        self.at += 1
        self.skip()
        comma = False
        while self.peek() != close:
            yield
            self.skip()
            comma = self.peek() == ","
            if comma:
                self.at += 1
                self.skip()
            elif self.peek() != close:
                raise self.error(f"a comma or {close} is expected")
        self.trailing = self.trailing or comma
        node.trailing = comma
        self.at += 1
        node.end = self.at


def _duplicates(node: Node, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for member in node.members:
        here = f"{path}.{member.key}" if path else member.key
        if member.key in seen:
            yield here
        seen.add(member.key)
        yield from _duplicates(member.node, here)
    for index, item in enumerate(node.items):
        yield from _duplicates(item, f"{path}[{index}]")
