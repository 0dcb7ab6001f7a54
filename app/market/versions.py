"""A newer version of an installed server: which one, started how, and with which earlier values.

Secret values are in no table. They are found in the launch that they went into: it is made once
more with a mark in the place of each, and compared.
"""

import re
from collections.abc import Iterator, Mapping

from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.market.entry import Entry
from app.market.launch import Choice, Field, launch_of

_PARTS = re.compile(r"[0-9]+|[A-Za-z]+")


def is_later(version: str, than: str) -> bool:
    """True if a version comes after another: by its numbers, and a release after its rehearsals."""
    return _key(version) > _key(than)


def _key(version: str) -> tuple[tuple[int, ...], bool, tuple[tuple[int, str], ...]]:
    parts = _PARTS.findall(version.lstrip("vV").partition("+")[0])
    words = next((place for place, part in enumerate(parts) if not part.isdigit()), len(parts))
    release = [int(part) for part in parts[:words]]
    while release and not release[-1]:  # 1.0 is 1.0.0
        release.pop()
    rest = tuple((int(p), "") if p.isdigit() else (-1, p) for p in parts[words:])
    return tuple(release), not rest, rest


def same_way(old: Choice, ways: tuple[Choice, ...]) -> Choice | None:
    """The package of the same kind and name, or an address where it was one; None for none."""
    package = old.package
    if package is None:
        return next((way for way in ways if way.remote is not None), None)
    name = _bare(package.kind, package.identifier)
    same = (
        way
        for way in ways
        if way.package is not None
        and way.kind == package.kind
        and _bare(way.kind, way.package.identifier) == name
    )
    return next(same, None)


def _bare(kind: str, identifier: str) -> str:
    """A package's name without what changes with its version."""
    if kind == "mcpb":  # the address of a file of one release
        return "/".join(identifier.split("/")[:5])
    if kind == "oci":
        head, slash, tail = identifier.partition("@")[0].rpartition("/")
        return f"{head}{slash}{tail.partition(':')[0]}"
    return identifier.lower()


def earlier_values(
    entry: Entry,
    choice: Choice,
    given: Mapping[str, str | None],
    launch: LaunchSpec,
    *,
    private: bool,
) -> dict[str, str]:
    """The values that a launch was made with; without the secret ones where it was edited since."""
    known = {key: text for key, text in given.items() if text is not None}
    fields = {field.key: field for field in choice.fields}
    marks = {
        key: _mark(number, fields[key])
        for number, key in enumerate(given)
        if given[key] is None and key in fields
    }
    if not marks:
        return known
    try:
        marked = launch_of(entry, choice, {**known, **marks}, private=private)
    except ToolcribError:
        return known
    for pattern, text in _pairs(marked, launch):
        known |= _read(pattern, text, marks)
    return known


def _mark(number: int, field: Field) -> str:
    if field.input.choices:
        return field.input.choices[0]
    return f"8675309{number:04}" if field.input.format == "number" else f"=mark-{number:04}="


def _pairs(marked: LaunchSpec, launch: LaunchSpec) -> Iterator[tuple[str, str]]:
    yield marked.url, launch.url
    if len(marked.args) == len(launch.args):
        yield from zip(marked.args, launch.args, strict=True)
    for mine, other in ((marked.env, launch.env), (marked.headers, launch.headers)):
        yield from ((mine[name], other[name]) for name in mine if name in other)


def _read(pattern: str, text: str, marks: Mapping[str, str]) -> dict[str, str]:
    """The texts in the place of the marks that a pattern holds."""
    inside = [key for key, mark in marks.items() if mark in pattern]
    if not inside:
        return {}
    escaped = re.escape(pattern)
    for place, key in enumerate(inside):
        group = f"(?P<g{place}>.*)" if escaped.count(re.escape(marks[key])) == 1 else None
        if group is None:
            return {}
        escaped = escaped.replace(re.escape(marks[key]), group)
    match = re.fullmatch(escaped, text, re.DOTALL)
    return {key: match[f"g{place}"] for place, key in enumerate(inside)} if match else {}
