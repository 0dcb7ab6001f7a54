"""Layout of a JSON text, and new values in the same layout."""

import json
import re
from collections import deque
from dataclasses import dataclass
from itertools import islice

from app.hosts.documents.json_spans import JsonText, Member, Node

_LOOKED_AT = 300  # nodes
_PARTS_LOOKED_AT = 64  # of each
_MEMBERS_LOOKED_AT = 8  # for indentation; a look may read a whole line, of any length
_READ_AGAIN = 4  # times the text's length that all looks together may read
_READ_AT_LEAST = 1_000_000  # characters
_WIDTH = 90  # a short list of scalars stays on one line up to this many characters


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """Line end, indentation and separators of a text."""

    newline: str = "\n"
    indent: str = "  "
    colon: str = ": "
    comma: str = ", "
    lists_open: bool = False  # lists of scalars have one item a line
    one_line: bool = False

    @classmethod
    def of(cls, document: JsonText) -> "JsonStyle":
        """The style of a text; a new or one-line text gets two spaces."""
        text, root = document.text, document.root
        newline = "\r\n" if "\r\n" in text else "\n"
        looks = _looks(root)
        filled = bool(looks[0].members or looks[0].items)
        one_line = filled and text.find("\n", root.start, root.end) < 0
        member = next((member for look in looks for member in look.members), None)
        colon = ": " if member is None else text[_key_end(text, member.start) : member.node.start]
        between = _between(text, looks)
        lists = [look.node for look in looks if look.items]
        return cls(
            newline,
            _indent(text, looks),
            ":" if colon.strip() == colon and one_line else ": ",
            between if one_line and between else ", ",
            bool(lists) and all(text.find("\n", node.start, node.end) >= 0 for node in lists),
            one_line,
        )

    def render(self, value: object, base: str, *, inline: bool = False) -> str:
        """A value as JSON text; `base` is the indentation of the line it starts on."""
        if isinstance(value, dict) and value:
            parts = [
                scalar(key) + self.colon + self.render(item, base + self.indent, inline=inline)
                for key, item in value.items()
            ]
            return self._wrap("{", parts, "}", base, inline)
        if isinstance(value, list) and value:
            parts = [self.render(item, base + self.indent, inline=inline) for item in value]
            flat = not any(isinstance(item, dict | list) for item in value)
            short = flat and not self.lists_open and sum(map(len, parts)) < _WIDTH
            return self._wrap("[", parts, "]", base, inline or short)
        return scalar(value)

    def _wrap(self, first: str, parts: list[str], last: str, base: str, inline: bool) -> str:
        if inline or self.one_line:
            pad = " " if first == "{" and not self.one_line else ""
            return first + pad + self.comma.join(parts) + pad + last
        deeper = self.newline + base + self.indent
        return first + deeper + ("," + deeper).join(parts) + self.newline + base + last


def scalar(value: object) -> str:
    """A scalar or an empty container as JSON; a lone surrogate stays escaped."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def line_indent(text: str, at: int) -> str:
    """The white space at the start of the line that `at` is on."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    match = re.compile(r"[ \t]*").match(text, start)
    return match[0] if match else ""


def _key_end(text: str, start: int) -> int:
    match = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, start)
    return match.end() if match else start


@dataclass(frozen=True, slots=True)
class _Look:
    """A node and the first of its parts."""

    node: Node
    members: list[Member]
    items: list[Node]


def _looks(root: Node) -> list[_Look]:
    """Nodes from the outside in; enough of them to see how the text is laid out."""
    queue = deque([root])
    looks: list[_Look] = []
    left = max(_READ_AGAIN * (root.end - root.start), _READ_AT_LEAST)
    while queue and len(looks) < _LOOKED_AT:
        node = queue.popleft()
        left -= node.end - node.start
        members, items = node.first_parts(_PARTS_LOOKED_AT) if left > 0 else ([], [])
        looks.append(_Look(node, members, items))
        queue.extend((*(member.node for member in members), *items))
    return looks


def _indent(text: str, looks: list[_Look]) -> str:
    """One step of indentation: what a member has more than the line of its object."""
    for look in looks:
        line_end = text.find("\n", look.node.start, look.node.end)
        if line_end < 0 or not look.members:
            continue
        outer = line_indent(text, look.node.start)
        below = (member for member in look.members if member.start > line_end)
        for member in islice(below, _MEMBERS_LOOKED_AT):
            own = line_indent(text, member.start)
            if len(own) > len(outer):
                return own.removeprefix(outer)
    return "  "


def _between(text: str, looks: list[_Look]) -> str:
    for look in looks:
        starts = [member.start for member in look.members] or [item.start for item in look.items]
        ends = [member.node.end for member in look.members] or [item.end for item in look.items]
        if len(starts) > 1:
            return text[ends[0] : starts[1]]
    return ""
