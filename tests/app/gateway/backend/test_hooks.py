"""What a hook adds to a prompt: real backends, real hook processes, a real encoder."""

import itertools
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gateway_store
import psutil
import pytest
import raw_host

from app.catalog.catalog import change_settings
from app.core.paths import Paths, gateway_program
from app.core.settings import GatewaySettings
from app.encoder.onnx import Encoder
from app.encoder.weights import find_model
from app.export.wrapping import GatewayCall
from app.gateway.backend import suggesting
from app.gateway.hook import printed
from app.gateway.rehearsal import rehearse_hook, rehearse_list
from app.hooks.entries import COMMAND, entry
from app.hosts.facts import host as facts_of
from store import events, exports, findings, profiles, servers, tools
from store.connection import open_store, transaction
from store.records import THROUGH, EntryRecord, ExportRecord, Finding

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.usefixtures("encoder_at_hand", "backends")
PROMPT = "please read the note with number 7 to me"
Hook = Callable[..., str]


def probe(name: str) -> dict[str, Any]:
    fakes = ROOT / "tests" / "fakes" / "probe_upstream.py"
    return {"command": sys.executable, "args": [str(fakes)], "env": {"PROBE_NAME": name}}


@pytest.fixture
def notes(home: Path) -> Path:
    """A store with one server whose tools are about notes, embedded; the database."""
    return gateway_store.stock(home, {"notes": probe("notes")}, encode=True)


@pytest.fixture
def hook(home: Path, monkeypatch: pytest.MonkeyPatch) -> Hook:
    """hook(host, prompt) runs the program as a host would; its output."""
    monkeypatch.setenv("TOOLCRIB_HOOK_SECONDS", "20")

    def run(
        host: str, prompt: str, *, raw: bytes | None = None, words: tuple[str, ...] = (),
        **fields: str,
    ) -> str:  # fmt: skip
        given = raw if raw is not None else json.dumps({"prompt": prompt, **fields}).encode()
        done = subprocess.run(
            [sys.executable, "-m", "app.gateway.main", "hook", host, *words],
            input=given,
            env={**os.environ, "TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert not done.stderr, done.stderr
        return done.stdout.decode()

    return run


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    """The encoder that hooks find at hand, loaded here."""
    files = find_model(Paths.default(os.environ), "all-MiniLM-L6-v2")
    assert files is not None
    return Encoder.load(files)


@pytest.fixture
def warm(
    notes: Path, adapter: Callable[..., raw_host.RawHost], hook: Hook, home: Path
) -> raw_host.RawHost:
    """A host that is connected through Toolcrib, and a backend that is ready to suggest."""
    host = adapter()
    host.initialize()
    host.request("tools/list")
    until(lambda: spoken(hook("claude-code", PROMPT, session_id="warming")), seconds=60)
    return host


def until(holds: Callable[[], object], seconds: float = 20) -> None:
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit, "it did not happen in time"


def spoken(output: str) -> str:
    """The text that the hook adds, in any host's form."""
    if not output:
        return ""
    made = json.loads(output)
    return str(made.get("hookSpecificOutput", made)["additionalContext"])


def test_a_preview_of_exact_names_is_what_the_hook_prints(
    notes: Path, hook: Hook, encoder: Encoder
) -> None:
    db = open_store(notes)
    with transaction(db):
        [row] = servers.all_servers(db)
        entry = EntryRecord("claude-code", "user", "/home/me/.claude.json", "my notes")
        servers.place(db, entry, row.spec, name="notes", trusted=True)
    db.close()
    until(lambda: hook("claude-code", PROMPT, session_id="warming"), seconds=60)
    real = hook("claude-code", PROMPT, session_id="named")
    preview = rehearse_hook(
        str(notes), "default", host="claude-code", prompt=PROMPT, encoder=encoder
    )
    assert "select:mcp__my_notes__read_note" in real
    assert printed("claude-code", preview.text) == real
    silent = rehearse_hook(str(notes), "default", host="gemini-cli", prompt=PROMPT, encoder=encoder)
    assert hook("gemini-cli", PROMPT) == printed("gemini-cli", silent.text) == ""
    assert silent.why.startswith("The host sends all its tools itself")


@pytest.fixture
def named(notes: Path) -> Path:
    """The store where opencode sends the tools of the server under a name of its own."""
    db = open_store(notes)
    with transaction(db):
        [row] = servers.all_servers(db)
        placed = EntryRecord("opencode", "user", "/home/me/opencode.json", "my.notes")
        servers.place(db, placed, row.spec, name="notes", trusted=True)
    db.close()
    return notes


def left_out(output: str) -> set[str]:
    """The tools that the hook's list form names."""
    made = json.loads(output) if output else {"off": []}
    assert list(made) == ["off"]
    return set(made["off"])


LISTED = ("--form", "list")


def test_the_list_form_names_the_tools_that_do_not_fit(named: Path, hook: Hook, home: Path) -> None:
    until(lambda: hook("opencode", PROMPT, words=LISTED), seconds=60)
    off = left_out(hook("opencode", PROMPT, words=LISTED))
    assert off, "it is said at each prompt, not once"
    db = open_store(named)
    every = {f"my_notes_{tool.name}" for tool in tools.tools(db)}
    ids = {tool.name: tool.id for tool in tools.tools(db)}
    assert off < every, "only tools of servers that Toolcrib knows, and not all"
    assert "my_notes_read_note" not in off
    pinned = sorted(off)[0].removeprefix("my_notes_")
    with transaction(db):
        record = profiles.by_name(db, "default")
        assert record is not None
        profiles.set_pinned(db, record.id, [ids[pinned]], True)
    until(lambda: left_out(hook("opencode", PROMPT, words=LISTED)) == off - {f"my_notes_{pinned}"})
    with transaction(db):
        profiles.set_held(db, record.id, [ids["read_note"]], "held")
    db.close()
    until(lambda: "my_notes_read_note" in left_out(hook("opencode", PROMPT, words=LISTED)))


def test_the_list_form_is_silent_where_the_list_stays_whole(
    named: Path, hook: Hook, home: Path
) -> None:
    until(lambda: hook("opencode", PROMPT, words=LISTED), seconds=60)
    for prompt in ("thanks!", "/compact", "!ls", "", "Read a note. " * 3_000):
        assert hook("opencode", prompt, words=LISTED) == "", prompt[:40]
    db = open_store(named)
    with transaction(db):
        record = ExportRecord(0, 1.0, "opencode", "user", "/f", THROUGH, "default", "", "", "")
        exports.add(db, record)
    db.close()
    assert hook("opencode", PROMPT, words=LISTED) == "", "it has the menu alone"
    (home / "backend.off").touch()
    assert hook("opencode", PROMPT, words=LISTED) == ""


def test_a_preview_of_the_list_form_is_what_the_hook_prints(
    named: Path, hook: Hook, encoder: Encoder
) -> None:
    until(lambda: hook("opencode", PROMPT, words=LISTED), seconds=60)
    for prompt in (PROMPT, "thanks!", "/compact"):
        real = hook("opencode", prompt, words=LISTED)
        heard = rehearse_list(
            str(named), "default", host="opencode", prompt=prompt, encoder=encoder
        )
        assert set(heard.off) == left_out(real), prompt
        assert bool(heard.made.why) is not bool(real), "it says why the list stays whole"


def test_a_host_that_cannot_narrow_its_list_has_no_such_form() -> None:
    command = [sys.executable, "-m", "app.gateway.main", "hook", "claude-code", *LISTED]
    done = subprocess.run(command, input=b"{}", capture_output=True, cwd=ROOT)
    assert done.returncode == 1
    assert b"--form list" in done.stderr


def test_a_preview_leaves_nothing_behind(notes: Path, encoder: Encoder) -> None:
    made = rehearse_hook(str(notes), "default", host="", prompt=PROMPT, encoder=encoder)
    assert made.text
    assert not journalled(notes, "suggest")


def test_without_an_encoder_a_preview_says_so(notes: Path) -> None:
    made = rehearse_hook(str(notes), "default", host="", prompt=PROMPT)
    assert not made.text
    assert made.why.startswith("The encoder is not prepared")


def test_a_host_that_has_only_just_begun_gets_its_first_prompt_answered(
    notes: Path, home: Path, hook: Hook
) -> None:
    """Its gateway is started a moment later; one that runs for long has none on purpose."""
    db = open_store(notes)
    with transaction(db):
        record = ExportRecord(0, 1.0, "opencode", "user", "/f", THROUGH, "default", "", "", "")
        exports.add(db, record)
    db.close()
    code = (
        "import subprocess, sys; sys.exit(subprocess.run("
        "[sys.executable, '-m', 'app.gateway.main', 'hook', 'opencode']).returncode)"
    )
    numbers = itertools.count()

    def just_begun() -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps({"prompt": PROMPT, "session_id": f"n{next(numbers)}"}).encode(),
            env={**os.environ, "TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=60,
            check=True,
        )
        return spoken(done.stdout.decode())

    until(lambda: "notes/read_note" in just_begun(), seconds=60)


def test_a_host_that_runs_for_long_is_not_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not suggesting._is_starting(1)
    monkeypatch.setattr(suggesting, "_STARTING_SECONDS", 1e9)
    assert suggesting._is_starting(os.getpid())
    monkeypatch.setattr(suggesting, "_STARTING_SECONDS", 0.0)
    assert not suggesting._is_starting(os.getpid())


def test_only_tools_that_are_available_are_suggested(
    warm: raw_host.RawHost, hook: Hook, notes: Path
) -> None:
    db = open_store(notes)
    ids = {tool.name: tool.id for tool in tools.tools(db)}
    with transaction(db):
        record = profiles.by_name(db, "default")
        assert record is not None
        profiles.set_held(db, record.id, [ids["read_note"]], "held")
    db.close()
    numbers = itertools.count()  # in one session it would be silent because it repeats itself
    until(lambda: "read_note" not in hook("claude-code", PROMPT, session_id=f"{next(numbers)}"))
    assert "read_note" not in hook("claude-code", PROMPT, session_id="e")


def test_a_tool_with_an_injected_description_is_never_suggested(
    warm: raw_host.RawHost, hook: Hook, notes: Path
) -> None:
    db = open_store(notes)
    rows = {tool.name: tool for tool in tools.tools(db)}
    tool = rows["read_note"]
    with transaction(db):
        findings.save(db, tool.id, [Finding(0, tool.id, "injection", "block", "x", tool.hash)], 0.0)
    assert rows["read_note"].id in findings.blocked(db)
    db.close()
    until(lambda: "read_note" not in hook("claude-code", PROMPT, session_id="f"))


def test_a_suggested_tool_counts_as_searched_for(
    warm: raw_host.RawHost, hook: Hook, notes: Path
) -> None:
    assert hook("claude-code", PROMPT, session_id="g")
    answer = warm.call("call_tool", {"name": "notes/read_note", "arguments": {"number": 7}})
    assert not answer.get("isError")
    (call,) = journalled(notes, "call", at_least=1)
    assert not call.detail.get("by_name"), "a suggested tool was called without a search"


def test_prompts_are_not_stored(warm: raw_host.RawHost, hook: Hook, notes: Path) -> None:
    secret = "zanzibar"
    hook("claude-code", f"{PROMPT} {secret}", session_id="h")
    [*_, last] = journalled(notes, "suggest", at_least=2)
    assert last.detail["tools"][0] == "notes/read_note"
    assert last.tokens > 0
    folder = notes.parent
    stored = b"".join(f.read_bytes() for f in folder.rglob("*") if f.is_file())
    assert secret.encode() not in stored


def test_prompts_are_kept_only_where_the_user_chose_it(
    warm: raw_host.RawHost, hook: Hook, notes: Path
) -> None:
    assert not any(one.query for one in journalled(notes, "suggest", at_least=1))
    db = open_store(notes)
    change_settings(db, "default", {"gateway": GatewaySettings(keep_prompts=True)})
    db.close()
    long = f"{PROMPT}, {'and then tell me what it says ' * 40}"

    def kept() -> bool:
        hook("claude-code", f"{PROMPT} again", session_id=f"k{time.monotonic()}")
        return any(one.query == f"{PROMPT} again" for one in journalled(notes, "suggest"))

    until(kept)
    hook("claude-code", long, session_id="long")
    hook("claude-code", "/compact", session_id="command")
    until(lambda: any(len(one.query) == 500 for one in journalled(notes, "suggest")))
    queries = [one.query for one in journalled(notes, "suggest")]
    assert long[:500] in queries
    assert "/compact" not in queries


def journalled(database: Path, kind: str, at_least: int = 0) -> list[Any]:
    """The events of a kind, oldest first, once there are so many."""
    db = open_store(database)
    try:
        found: list[Any] = []

        def look() -> bool:
            found[:] = [e for e in reversed(events.recent(db, 200)) if e.kind == kind]
            return len(found) >= at_least

        until(look)
        return found
    finally:
        db.close()


def test_without_a_backend_the_hook_is_silent_and_starts_one(
    notes: Path,
    hook: Hook,
    backends: Callable[[], list[psutil.Process]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOOLCRIB_BACKEND_IDLE", "60")
    assert hook("claude-code", PROMPT) == ""
    until(lambda: len(backends()) == 1)


def test_where_the_backend_is_off_none_is_started(
    notes: Path, home: Path, hook: Hook, backends: Callable[[], list[psutil.Process]]
) -> None:
    (home / "backend.off").touch()
    assert hook("claude-code", PROMPT) == ""
    assert not backends()


def test_whatever_the_host_says_the_prompt_goes_on(home: Path, hook: Hook) -> None:
    for raw in (b"", b"no json", b"[]", b'{"prompt": 7}', b"\xff\xfe"):
        assert hook("claude-code", "", raw=raw) == ""
    assert not home.exists(), "a hook made a folder"


def test_the_hook_starts_light() -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1]);"
        "import app.gateway.hook, app.gateway.backend.client; print(*sorted(sys.modules))"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    heavy = {
        "numpy", "PySide6", "mcp", "apsw", "typing", "pathlib", "dataclasses", "asyncio", "json",
        "re", "enum", "signal", "site", "socket",
    }  # fmt: skip
    assert not heavy & {name.partition(".")[0] for name in done.stdout.split()}


def test_the_command_in_a_hosts_file_answers_as_the_program_does(
    warm: raw_host.RawHost, hook: Hook, home: Path
) -> None:
    facts = facts_of("claude-code")
    assert facts.hook is not None
    call = GatewayCall(str(gateway_program()), "default", str(home))
    line = entry(facts, facts.hook, call, COMMAND, "linux")["command"]
    assert " -I -S " in line, "it starts no environment"
    given = {"prompt": PROMPT, "session_id": "line"}
    done = subprocess.run(
        ["/bin/sh", "-c", line], input=json.dumps(given), cwd="/", capture_output=True,
        text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "notes/read_note" in spoken(done.stdout)
    assert done.stdout == hook("claude-code", PROMPT, session_id="program")


def test_a_host_that_never_ends_its_words_gets_its_prompt_back(home: Path) -> None:
    command = [sys.executable, "-m", "app.gateway.main", "hook", "claude-code"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.wait(30) == 0
    assert process.stdin and process.stdout
    process.stdin.close()
    assert process.stdout.read() == b""
    process.stdout.close()


def test_a_hook_takes_little_time_of_the_processor(warm: raw_host.RawHost, hook: Hook) -> None:
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def cost(run: Callable[[], object]) -> float:
        before = used()
        run()
        return used() - before

    empty = min(
        cost(lambda: subprocess.run([sys.executable, "-c", "import json"], check=True))
        for _ in range(5)
    )
    ours = min(cost(lambda: hook("claude-code", "thanks!")) for _ in range(5))
    assert ours < 3 * empty + 0.02
