"""Generated configs through read, plan, apply, undo: nothing escapes, no byte is lost."""

import json
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.export.apply import apply, undo
from app.export.masking import masked_diff
from store import exports

SECRET = "s3cr3t-value-0815"
FILES = {
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "gemini-cli": (".gemini/settings.json", "mcpServers"),
    "opencode": (".config/opencode/opencode.jsonc", "mcp"),
    "cline": (".cline/data/settings/cline_mcp_settings.json", "mcpServers"),
    "zed": (".config/zed/settings.json", "context_servers"),
    "crush": (".config/crush/crush.json", "mcp"),
    "claude-code": (".claude.json", "mcpServers"),
}
SAMPLES = {
    "codex": ("codex/config.toml", ".codex/config.toml"),
    "goose": ("goose/config.yaml", ".config/goose/config.yaml"),
    "opencode": ("opencode/opencode.jsonc", ".config/opencode/opencode.jsonc"),
    "vscode": ("vscode/User/mcp.json", ".config/Code/User/mcp.json"),
    "zed": ("zed/settings.json", ".config/zed/settings.json"),
    "cline": ("cline/cline_mcp_settings.json", ".cline/data/settings/cline_mcp_settings.json"),
    "claude-code": ("claude-code/dot-claude.json", ".claude.json"),
    "copilot-cli": ("copilot-cli/mcp-config.json", ".copilot/mcp-config.json"),
    "kiro": ("kiro/settings/mcp.json", ".kiro/settings/mcp.json"),
    "windsurf": ("windsurf/mcp_config.json", ".codeium/windsurf/mcp_config.json"),
}
MODES = ("as-is", "native", "pruned", "through")

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
keys = st.one_of(words, st.sampled_from(["toolcrib", "a b", "grüß", "servers", "x.y", "", "😀"]))
arguments = st.one_of(
    words.map(lambda word: [word]),
    st.sampled_from([["--token", SECRET], [f"--api-key={SECRET}"], ["--"], ["${V}"]]),
)
entries = st.one_of(
    st.fixed_dictionaries(
        {"command": words},
        optional={
            "args": st.lists(arguments, max_size=3).map(
                lambda parts: [arg for part in parts for arg in part]
            ),
            "env": st.dictionaries(words, st.sampled_from([SECRET, "${env:X}", "1"]), max_size=2),
            "type": st.sampled_from(["stdio", "local", "http", "odd"]),
            "disabled": st.booleans(),
        },
    ),
    st.fixed_dictionaries(
        {"url": st.sampled_from(["https://h/mcp", f"https://u:{SECRET}@h/?token={SECRET}"])},
        optional={
            "headers": st.dictionaries(st.just("Authorization"), st.just(f"Bearer {SECRET}")),
            "type": st.sampled_from(["http", "sse", "remote"]),
        },
    ),
    st.one_of(st.none(), st.integers(), words, st.lists(words, max_size=2), st.just({})),
)
trees = st.dictionaries(keys, entries, max_size=4)


@st.composite
def configs(draw):
    """A host, and the text of its file in some layout, now and then broken."""
    host = draw(st.sampled_from(sorted(FILES)))
    tree = {FILES[host][1]: draw(trees), draw(words): draw(words)}
    style = draw(st.sampled_from([None, 1, 2, "\t"]))
    text = json.dumps(tree, indent=style, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if draw(st.integers(0, 9)) == 0:
        text = "// a comment\n" + text
    if draw(st.integers(0, 19)) == 0:
        text = text[: draw(st.integers(0, len(text)))]
    bom = b"\xef\xbb\xbf" if draw(st.integers(0, 9)) == 0 else b""
    return host, bom + text.encode("utf-8", "replace"), draw(st.sampled_from(MODES))


@pytest.fixture(scope="module")
def shared(host_world):
    folder = Path(tempfile.mkdtemp())
    ctx = AppContext(Paths(folder / "toolcrib", folder / "models"), Settings())
    ctx.paths.create()
    db = ctx.open_store()
    db.pragma("synchronous", "off")  # a thousand writes: the disk is not what is tested
    yield host_world.HostWorld(folder, ctx, db)
    db.close()
    shutil.rmtree(folder)


@pytest.mark.slow
@settings(
    derandomize=True,
    max_examples=1000,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(configs())
def test_a_thousand_generated_configs_lose_no_byte(shared, config):
    host_id, data, mode = config
    path = FILES[host_id][0]
    for other, _ in FILES.values():
        (shared.home / other).unlink(missing_ok=True)
    file = shared.write(path, data)
    shared.learn(("one", "two"))
    rows = shared.catalog.tools
    if rows:
        shared.off(rows[0].tool.tool_id)
    made = shared.plan(host_id, mode)
    assert SECRET not in repr(made) + repr(made.warnings) + repr(made.refusal) + repr(made.changes)
    for shown in masked_diff(made):
        assert SECRET not in shown.before + shown.after
    if made.refusal or made.empty:
        assert file.read_bytes() == data
        return
    records = apply(made, shared.ctx, shared.db)
    assert SECRET not in repr(records)
    for record in reversed(records):
        undo(record.id, shared.ctx, shared.db)
    assert file.read_bytes() == data


@pytest.mark.parametrize("host_id", sorted(SAMPLES))
def test_a_walk_through_the_modes_undone_step_by_step_gives_the_same_bytes(world, samples, host_id):
    sample, at = SAMPLES[host_id]
    file = world.write(at, (samples / sample).read_bytes())
    start = file.read_bytes()
    world.learn()
    ids = [row.tool.tool_id for row in world.catalog.tools]
    rng = random.Random(host_id)
    states, records = [], []
    for _ in range(12):
        world.on(*ids)
        world.off(*rng.sample(ids, rng.randrange(1, len(ids))))
        made = world.plan(host_id, rng.choice(MODES))
        if made.refusal is None and not made.empty:
            states.append(file.read_bytes())
            records.append(apply(made, world.ctx, world.db))
    assert len(records) > 3
    for state, written in zip(reversed(states), reversed(records), strict=True):
        for record in reversed(written):
            undo(record.id, world.ctx, world.db)
        assert file.read_bytes() == state
    assert file.read_bytes() == start
    assert not [r for r in exports.for_host(world.db, host_id) if not r.undone_at]
