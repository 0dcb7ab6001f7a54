"""Edits JSON and JSONC text span by span: what is not edited keeps its bytes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.hosts.documents.edits import Delete, Edit, Path, Rename, Set
from app.hosts.documents.json_spans import JsonText, Node, parse
from app.hosts.documents.json_style import JsonStyle, line_indent, scalar

_KEY = re.compile(r'"(?:[^"\\]|\\.)*"')
_GAP = re.compile(r"(?P<space>\s+)|(?P<line>//[^\r\n]*)|(?P<block>/\*.*?\*/)|(?P<comma>,)", re.S)


@dataclass(frozen=True, slots=True)
class _Part:
    """A member or an item: where it starts, and its value."""

    start: int
    node: Node


_Splice = tuple[int, int, str]  # start, end, replacement


def edit_json(text: str, edits: list[Edit]) -> str:
    """The text with the edits made; an empty text counts as an empty object."""
    text = text if text.strip() else "{}\n"
    style = JsonStyle.of(parse(text))
    while edits:
        document = parse(text)
        now, edits = _independent(document, edits)
        splices = [splice for edit in now for splice in _splices(document, edit, style)]
        text = _spliced(text, splices)
    return text


def _spliced(text: str, splices: list[_Splice]) -> str:
    """The text with parts replaced that lie apart, put together once."""
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(splices):
        pieces += text[at:start], new
        at = end
    return "".join((*pieces, text[at:]))


def _independent(document: JsonText, edits: list[Edit]) -> tuple[list[Edit], list[Edit]]:
    """The edits that can be made in one go, each in a place of its own, and the others in order.

    Parsing the text for each of a thousand edits would take ten seconds.
    """
    now: list[Edit] = []
    later: list[Edit] = []
    taken: set[Path] = set()
    around: set[Path] = set()  # what those lie in
    for edit in edits:
        place = _place(document, edit)
        outer = {place[:length] for length in range(len(place) + 1)}
        free = place not in around and not outer & taken
        (now if free else later).append(edit)
        taken.add(place)
        around |= outer
    return now, later


def _place(document: JsonText, edit: Edit) -> Path:
    """The value that an edit changes: nothing outside of it moves for any other edit."""
    node, rest = _find(document.root, edit.path[:-1])
    key = edit.path[-1]
    removed = isinstance(edit, Delete) and not rest and isinstance(key, str)
    if removed and 0 <= _index(node, str(key)) < len(node.members) - 1:
        return edit.path  # with the gap after it; the last one's gap belongs to its neighbour
    return edit.path[: len(edit.path) - 1 - len(rest)]


def _splices(document: JsonText, edit: Edit, style: JsonStyle) -> list[_Splice]:
    if isinstance(edit, Set):
        return [_set(document, edit, style)]
    if isinstance(edit, Rename):
        return list(_rename(document, edit))
    return [(start, end, "") for start, end in _delete(document, edit.path)]


def _rename(document: JsonText, edit: Rename) -> Iterator[_Splice]:
    """The one token that is the key."""
    node, rest = _find(document.root, edit.path[:-1])
    member = None if rest else node.member(str(edit.path[-1]))
    if member is not None:
        key = _KEY.match(document.text, member.start)
        if key is not None:
            yield *key.span(), scalar(edit.name)


def _find(node: Node, path: Path) -> tuple[Node, Path]:
    """The deepest node that exists on the path, and the rest of the path."""
    for index, key in enumerate(path):
        child = _child(node, key)
        if child is None:
            return node, path[index:]
        node = child
    return node, ()


def _child(node: Node, key: str | int) -> Node | None:
    if isinstance(key, int):
        return node.items[key] if key < len(node.items) else None
    member = node.member(key)
    return member.node if member else None


def _set(document: JsonText, edit: Set, style: JsonStyle) -> _Splice:
    node, rest = _find(document.root, edit.path)
    text = document.text
    if not rest or node.kind not in ("object", "array"):
        value = _nested(rest, edit.value)
        inline = "\n" not in text[node.start : node.end] and node.kind in ("object", "array")
        inline = inline and node.end - node.start > 2  # {} and [] say nothing about the layout
        new = style.render(value, line_indent(text, node.start), inline=inline)
        return node.start, node.end, new
    return _insert(document, node, style, rest[0], _nested(rest[1:], edit.value))


def _nested(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = [value] if isinstance(key, int) else {key: value}
    return value


def _parts(node: Node) -> list[_Part]:
    if node.kind == "object":
        return [_Part(member.start, member.node) for member in node.members]
    return [_Part(item.start, item) for item in node.items]


def _insert(
    document: JsonText, node: Node, style: JsonStyle, key: str | int, value: Any
) -> _Splice:
    """A member or item added as the last one."""
    text, parts = document.text, _parts(node)
    close = node.end - 1

    def rendered(base: str, inline: bool) -> str:
        body = style.render(value, base, inline=inline)
        return body if isinstance(key, int) else scalar(key) + style.colon + body

    if not parts:
        inner = text[node.start + 1 : close]
        if style.one_line or (inner and not inner.strip() and "\n" not in inner):
            return close, close, rendered("", True) + inner
        base = line_indent(text, node.start)
        body = style.newline + base + style.indent + rendered(base + style.indent, False)
        kept = inner.rstrip()
        return node.start + 1, close, kept + body + style.newline + base
    last, at = parts[-1], _content_end(text, parts[-1].node.end, close)
    trailing = any(m.lastgroup == "comma" for m in _gap(text, last.node.end, close))
    comma = "" if trailing else ","
    opened = "\n" in text[_content_start(node, parts) : last.start] or "\n" in text[at:close]
    if opened:
        base = line_indent(text, last.start)
        new = style.newline + base + rendered(base, False)
    else:
        space = style.comma.removeprefix(",") if style.one_line else " "
        new = space + rendered("", True)
    if trailing:
        new += ","
    return last.node.end, at, comma + text[last.node.end : at] + new


def _content_start(node: Node, parts: list[_Part]) -> int:
    """Index at which the gap before the last part starts."""
    return parts[-2].node.end if len(parts) > 1 else node.start


def _content_end(text: str, start: int, end: int) -> int:
    """The end of the last comment or comma in a gap, its start when there is none."""
    last = start
    for match in _gap(text, start, end):
        if match.lastgroup != "space":
            last = match.end()
    return last


def _gap(text: str, start: int, end: int) -> list[re.Match[str]]:
    return list(_GAP.finditer(text, start, end))


def _delete(document: JsonText, path: Path) -> list[tuple[int, int]]:
    """Spans to cut so that a member or item is gone."""
    node, rest = _find(document.root, path[:-1])
    parts = _parts(node)
    index = path[-1] if isinstance(path[-1], int) else _index(node, path[-1])
    if rest or index < 0 or index >= len(parts):
        return []
    if index < len(parts) - 1:
        return _spans_before(document.text, parts[index], parts[index + 1])
    return _spans_last(document.text, node, parts)


def _index(node: Node, key: str) -> int:
    keys = [member.key for member in node.members]
    return len(keys) - 1 - keys[::-1].index(key) if key in keys else -1


def _spans_before(text: str, part: _Part, following: _Part) -> list[tuple[int, int]]:
    """Spans to cut so that a part with another one after it is gone."""
    gap = _gap(text, part.node.end, following.start)
    if all(match.lastgroup in ("space", "comma") for match in gap):
        return [(part.start, following.start)]
    comma = next(match for match in gap if match.lastgroup == "comma")
    if comma.start() == part.node.end:
        return [(part.start, comma.end())]
    return [(part.start, part.node.end), comma.span()]


def _spans_last(text: str, node: Node, parts: list[_Part]) -> list[tuple[int, int]]:
    """Spans to cut so that the last part is gone; the comma before it goes with it."""
    part, close = parts[-1], node.end - 1
    after = [m for m in _gap(text, part.node.end, close) if m.lastgroup == "comma"]
    spans = [match.span() for match in after]
    if len(parts) == 1:
        before = node.start + 1
        inner = text[before : part.start] + text[part.node.end : close]
        if not inner.replace(",", "").strip():
            lead = text[before : part.start]
            return [(before if "\n" in lead or not lead else part.start, close)]
    else:
        before = parts[-2].node.end
        gap = _gap(text, before, part.start)
        if not after:  # the one before becomes the last, without a comma
            spans += [match.span() for match in gap if match.lastgroup == "comma"]
    gap = _gap(text, before, part.start)
    cut = _content_end(text, before, part.start)
    ends_in_line_comment = any(m.lastgroup == "line" and m.end() == cut for m in gap)
    follows = text[part.node.end : close + 1].removeprefix(",")
    if ends_in_line_comment and not re.match(r"[ \t]*(\r?\n|//)", follows):
        cut = part.start
    return [*spans, (cut, part.node.end)]
