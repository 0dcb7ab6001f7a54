"""What may never stand in a suggestion: injected texts, held tools, tools of another profile.

The poisoned tools are texts of public attack collections (tests/data/poisoned_tools.jsonl names
source and licence of each); a real scan judges and embeds them beside well-known tools.
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import ProfileSettings, Settings
from app.encoder.onnx import Encoder
from app.gateway.rehearsal import rehearse_hook
from app.hooks.small_talk import SmallTalk
from app.indexing.indexer import Indexer
from app.policy.profiles import create
from store import findings, profiles, servers, tools
from store.connection import transaction
from store.hashes import tool_hash
from store.records import EntryRecord, NewTool, ServerSpec, ToolRecord

DATA = Path(__file__).parents[2] / "data"
READ = "please read the whole text of one file"


def lines(name: str) -> list[dict]:  # type: ignore[type-arg]
    text = (DATA / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


POISONED = lines("poisoned_tools.jsonl")


@dataclass(frozen=True)
class World:
    """A scanned store, and what is loaded once for all previews of it."""

    ctx: AppContext
    tools: dict[str, ToolRecord]
    blocked: frozenset[int]
    encoder: Encoder
    talk: SmallTalk

    def suggestion(self, prompt: str, *, host: str = "", profile: str = "default") -> str:
        made = rehearse_hook(
            str(self.ctx.paths.database),
            profile,
            host=host,
            prompt=prompt,
            encoder=self.encoder,
            small_talk=self.talk,
        )
        return made.text

    def poisoned(self, number: int) -> ToolRecord:
        return self.tools[f"p{number}/{POISONED[number]['name']}"]


def scanned(folder: Path) -> World:
    ctx = AppContext(Paths(folder, Path(os.environ["TOOLCRIB_MODELS"])), Settings())
    ctx.paths.create()
    db = ctx.open_store()
    listed = {f"p{number}": [row] for number, row in enumerate(POISONED)}
    for row in lines("well_known_tools.jsonl")[:25]:
        listed.setdefault(row["server"], []).append(row)
    with transaction(db):
        for name, rows in listed.items():
            spec = ServerSpec("stdio", key=name, command=name)
            entry = EntryRecord("claude-code", "user", "/home/me/.claude.json", name)
            id_ = servers.place(db, entry, spec, name=name, trusted=True)
            new = [new_tool(row) for row in rows]
            tools.save_list(db, id_, new, at=1.0)
    indexer = Indexer(ctx, db)
    indexer.texts()
    encoder = indexer.encoder()
    rows_of = {tool.tool_id: tool for tool in tools.tools(db)}
    made = World(ctx, rows_of, findings.blocked(db), encoder, SmallTalk(encoder))
    db.close()
    return made


def new_tool(row: dict) -> NewTool:  # type: ignore[type-arg]
    schema = row.get("inputSchema") or row.get("input_schema") or {"type": "object"}
    raw = {"name": row["name"], "description": row["description"], "inputSchema": schema}
    return NewTool(row["name"], raw, tool_hash(raw))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return scanned(tmp_path_factory.mktemp("poisoned"))


@pytest.fixture
def own(tmp_path: Path, world: World) -> World:
    """A copy of the store to change."""
    ctx = AppContext(Paths(tmp_path / "own", world.ctx.paths.models), Settings())
    ctx.paths.create()
    db = world.ctx.open_store()
    db.execute("VACUUM INTO ?", (str(ctx.paths.database),))
    db.close()
    return World(ctx, world.tools, world.blocked, world.encoder, world.talk)


def prompts(row: dict) -> list[str]:  # type: ignore[type-arg]
    """What somebody would type who needs what the tool pretends to be."""
    cover = re.split(r"(?<=[.!?])\s|<|\n", row["description"])[0]
    return [f"please {cover}", f"I need {row['name'].replace('_', ' ')} now"]


@pytest.mark.parametrize("host", ["", "claude-code"], ids=["through", "exact names"])
def test_a_tool_with_an_injected_description_is_in_no_suggestion(world: World, host: str) -> None:
    held = [n for n, _row in enumerate(POISONED) if world.poisoned(n).id in world.blocked]
    assert len(held) > len(POISONED) // 2, "the scanner holds them"
    names = [f"p{n}/{POISONED[n]['name']}" for n in held]
    names += [f"mcp__p{n}__{POISONED[n]['name']}" for n in held]
    texts = [world.suggestion(p, host=host) for row in POISONED for p in prompts(row)]
    assert any(texts), "it speaks"
    for text in texts:
        assert not [name for name in names if f"{name}(" in text or f"{name}," in f"{text},"]


def test_a_doubted_description_is_not_quoted(world: World) -> None:
    """A finding that only warns holds no tool; its words stay out all the same."""
    db = world.ctx.open_store()
    warned = [
        n
        for n, _row in enumerate(POISONED)
        if world.poisoned(n).id in findings.doubted(db) - world.blocked
    ]
    db.close()
    assert warned
    named = 0
    for number in warned:
        tool_id = world.poisoned(number).tool_id
        for prompt in prompts(POISONED[number]):
            for line in world.suggestion(prompt).splitlines():
                if line.startswith(f"- {tool_id}("):
                    named += 1
                    assert "“" not in line, line
    assert named, "their names and arguments are given"


def test_an_approved_description_is_quoted(own: World) -> None:
    number = next(n for n, row in enumerate(POISONED) if row["name"] == "multiply")
    tool = own.poisoned(number)
    prompt = "multiply two integers please"
    assert tool.tool_id not in own.suggestion(prompt)
    db = own.ctx.open_store()
    with transaction(db):
        for one in findings.of_tool(db, tool.id):
            findings.decide(db, one.id, findings.APPROVED, 2.0)
    db.close()
    assert f"- {tool.tool_id}(): “Multiplies two integers" in own.suggestion(prompt)


def names_it(text: str) -> bool:
    """Whether a suggestion names the tool; other tools' descriptions mention it too."""
    return "- filesystem/read_text_file(" in text or "mcp__filesystem__read_text_file" in text


def test_a_held_tool_is_in_no_suggestion(own: World) -> None:
    tool = own.tools["filesystem/read_text_file"]
    assert names_it(own.suggestion(READ))
    assert names_it(own.suggestion(READ, host="claude-code"))
    db = own.ctx.open_store()
    with transaction(db):
        record = profiles.by_name(db, "default")
        assert record is not None
        profiles.set_held(db, record.id, [tool.id], "held")
    db.close()
    for host in ("", "claude-code"):
        assert not names_it(own.suggestion(READ, host=host))


def test_a_changed_tool_is_in_no_suggestion(own: World) -> None:
    tool = own.tools["filesystem/read_text_file"]
    db = own.ctx.open_store()
    with transaction(db):
        record = profiles.by_name(db, "default")
        assert record is not None
        profiles.set_held(db, record.id, [tool.id], "changed")
    db.close()
    assert not names_it(own.suggestion(READ))


def test_a_tool_of_another_profile_is_in_no_suggestion(own: World) -> None:
    tool = own.tools["filesystem/read_text_file"]
    db = own.ctx.open_store()
    create(db, "work", copy_of="default")
    with transaction(db):
        record = profiles.by_name(db, "default")
        assert record is not None
        profiles.set_on(db, record.id, [tool.id], False)
    db.close()
    assert names_it(own.suggestion(READ, profile="work"))
    assert not names_it(own.suggestion(READ, profile="default"))


def test_a_server_that_a_profile_leaves_out_is_in_no_suggestion(own: World) -> None:
    db = own.ctx.open_store()
    with transaction(db):
        record = profiles.by_name(db, "default")
        assert record is not None
        settings = ProfileSettings.from_json({**record.settings, "servers": ["git"]})
        profiles.save_settings(db, record.id, settings.to_json())
    db.close()
    assert "filesystem/" not in own.suggestion(READ)
