"""60 random edits on every sample that can be edited: values right, the rest untouched."""

import random
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import Delete, Set, apply_edits
from app.hosts.documents.values import format_of, read_values

SAMPLES = Path(__file__).parents[3] / "data" / "hosts"
VALUES = [1, "x y", "grüß 😀", True, [], {}, ["a", "b"], "C:\\x", 2.5]
VALUES.append({"command": "c", "args": ["-y", "p"], "env": {"A": "b"}})


def editable() -> list[str]:
    found = []
    for path in sorted(SAMPLES.rglob("*")):
        if not path.is_file() or path.name in ("index.json", ".gitattributes"):
            continue
        try:
            parsed = read_values(path.read_bytes(), format_of(path))
        except ToolcribError:
            continue
        if isinstance(parsed.value, dict) and not parsed.duplicates:
            found.append(str(path.relative_to(SAMPLES)))
    return found


def places(value, path=()):
    """Every path of a value tree."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        yield (*path, key), item
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


def random_edit(rng: random.Random, value, kind: str):
    known = list(places(value))
    kind_of_edit = rng.random()
    if kind_of_edit < 0.5 or not known:
        holders = [((), value), *((p, v) for p, v in known if isinstance(v, dict | list))]
        path, holder = rng.choice(holders)
        key = len(holder) if isinstance(holder, list) else f"k{rng.randrange(10**6)}"
        return Set((*path, key), rng.choice(VALUES))
    path = rng.choice(known)[0]
    return Set(path, rng.choice(VALUES)) if kind_of_edit < 0.7 else Delete(path)


def comments(data: bytes) -> list[bytes]:
    return [line.split(b"//")[-1] for line in data.splitlines() if b"// " in line]


@pytest.mark.parametrize("name", editable())
def test_every_edit_gives_the_values_meant_and_an_added_key_goes_without_a_trace(name):
    path = SAMPLES / name
    kind = format_of(path)
    rng = random.Random(name)
    data = path.read_bytes()
    for step in range(60):
        before = read_values(data, kind).value
        one = random_edit(rng, before, kind)
        if kind == "toml" and any(isinstance(key, int) for key in one.path[:-1]):
            continue  # tables inside arrays are no place where a host keeps servers
        try:
            after = edit(data, kind, [one])
        except ToolcribError:
            assert "anchors" in name  # what an anchor shares is refused, never changed elsewhere
            continue
        meant = apply_edits(before, [one])
        assert without_empty(read_values(after, kind).value) == without_empty(meant)
        if (
            step % 3 == 0
            and kind == "jsonc"
            and isinstance(one, Set)
            and one.path not in dict(places(before))
        ):
            assert sorted(comments(after)) >= sorted(comments(data))
            if data.strip():
                assert edit(after, kind, [Delete(one.path)]) == data
        data = after


def without_empty(value):
    """TOML shows no empty table, so it does not count."""
    if isinstance(value, dict):
        found = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item != {}}
    return value
