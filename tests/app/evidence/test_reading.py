"""Calls are read from the hosts' own records; a bad file costs a note, and no text is kept."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import apsw
import pytest

from app.core.context import AppContext
from app.evidence import reading
from app.evidence.reading import DAY, KEPT_DAYS, ReadReport, read_records
from app.evidence.use import host_use, recorded_sessions
from store import host_records

NOW = 1_795_700_000.0  # 2026-11-26
AT = "2026-11-26T02:06:30.904Z"
Read = Callable[[], ReadReport]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def read(db: apsw.Connection, home: Path) -> Read:
    return lambda: read_records(db, home, {}, NOW)


def claude(call: str = "call_1", tool: str = "mcp__files__read", request: str = "r1") -> str:
    content = [{"type": "tool_use", "id": call, "name": tool, "input": {"q": "PRIVATE"}}]
    message = {"id": "msg", "role": "assistant", "content": content}
    line = {"type": "assistant", "timestamp": AT, "requestId": request, "message": message}
    return json.dumps(line) + "\n"


def session(home: Path, text: str | bytes, name: str = "one") -> Path:
    file = home / ".claude" / "projects" / "-repo" / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(file, (NOW, NOW))
    return file


def names(db: apsw.Connection) -> list[tuple[str, str, int]]:
    return sorted((s, t, n) for _h, s, t, n, _l in host_records.calls_since(db, 0.0))


def test_calls_and_requests_are_counted_once(home: Path, read: Read, db: apsw.Connection) -> None:
    file = session(home, claude() + claude("call_2") + claude("call_3", request="r2"))
    first = read()
    assert (first.files, first.read, first.calls, first.requests) == (1, 1, 3, 2)
    assert read().read == 0
    with file.open("a") as more:
        more.write(claude("call_4", request="r2") + claude("call_5", "Bash", "r2"))
    again = read()
    assert (again.read, again.calls, again.requests) == (1, 1, 0)
    assert names(db) == [("files", "read", 4)]


def test_no_text_of_a_record_is_kept(home: Path, read: Read, ctx: AppContext) -> None:
    session(home, claude())
    assert read().calls == 1
    kept = [file for file in ctx.paths.home.rglob("*") if file.is_file()]
    assert ctx.paths.database in kept
    assert not [file for file in kept if b"PRIVATE" in file.read_bytes()]


def test_a_torn_last_line_is_read_when_it_is_whole(home: Path, read: Read) -> None:
    whole = claude() + claude("call_2")
    session(home, whole[:-20])
    assert read().calls == 1
    session(home, whole)
    assert read().calls == 1
    assert read().read == 0


def test_a_file_that_was_written_anew_is_read_anew(
    home: Path, read: Read, db: apsw.Connection
) -> None:
    session(home, claude() + claude("call_2") + claude("call_3"))
    read()
    session(home, claude("other", "mcp__web__get"))
    read()
    assert names(db) == [("web", "get", 1)]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00\xff" * 1000,
        b"[]\n5\nnull\n",
        b'{"type": "assistant"}\n{"type": "assistant", "message": 5, "timestamp": 3}\n',
        b'{"type":"assistant","message":{"content":{"type":"tool_use"}},"timestamp":"x"}\n',
        json.dumps({"type": "assistant", "message": {"content": [5, None, {"type": 7}]}}).encode(),
        b'{"assistant": ' + b"[" * 10_000 + b"\n",
    ],
)
def test_a_foreign_format_tells_nothing(home: Path, read: Read, text: bytes) -> None:
    session(home, text)
    assert (read().calls, read().notes) == (0, ())


def test_a_pipe_a_folder_and_a_loop_of_links_cost_a_note(home: Path, read: Read) -> None:
    folder = session(home, claude()).parent
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    (folder / "loop.jsonl").symlink_to(folder / "loop.jsonl")
    report = read()
    assert report.calls == 1 and len(report.notes) == 3


@pytest.mark.skipif(os.name == "nt", reason="folders are closed in another way there")
def test_an_unreadable_folder_costs_a_note_and_the_others_are_read(db: apsw.Connection) -> None:
    with TemporaryDirectory(dir="/tmp") as name:
        home = Path(name)
        home.chmod(0o755)
        closed = session(home, claude("call_2"), "two").parents[1] / "-closed"
        closed.mkdir()
        (closed / "three.jsonl").write_text(claude("call_3"))
        closed.chmod(0o000)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)  # root may read everything
            report = read_records(db, home, {}, NOW)
        finally:
            os.seteuid(user)
            closed.chmod(0o700)
    assert report.calls == 1
    assert len(report.notes) == 1 and "-closed" in report.notes[0]


def test_a_line_without_end_is_skipped_and_the_next_one_read(
    home: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHUNK", 1_000)
    monkeypatch.setattr(reading, "LONGEST_LINE", 5_000)
    session(home, claude() + '{"assistant": "' + "x" * 50_000 + '"}\n' + claude("call_2"))
    report = read()
    assert report.calls == 2 and "were skipped" in report.notes[0]


def test_a_file_of_200_mb_takes_little_memory(home: Path, read: Read) -> None:
    import resource

    filler = b'{"type":"user","text":"' + b"x" * 99_974 + b'"}\n'
    file = session(home, claude())
    with file.open("ab") as more:
        for _ in range(2_000):
            more.write(filler)
        more.write(claude("call_2").encode())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert read().calls == 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # kB


def test_a_stopped_reading_goes_on_where_it_ended(home: Path, db: apsw.Connection) -> None:
    for number in range(5):
        session(home, claude(f"call_{number}"), f"s{number}")
    stop = Event()

    def progress(done: int, _total: int) -> None:
        if done == 2:
            stop.set()

    first = read_records(db, home, {}, NOW, progress=progress, cancel=stop)
    assert first.stopped and 0 < first.calls < 5
    second = read_records(db, home, {}, NOW)
    assert first.calls + second.calls == 5


def test_calls_of_long_ago_and_of_the_future_do_not_count(home: Path, read: Read) -> None:
    old = claude().replace(AT, "2025-01-01T00:00:00Z")
    session(home, old + claude("call_2").replace(AT, "2999-01-01T00:00:00Z") + claude("call_3"))
    assert read().calls == 1


def test_kept_calls_are_pruned(home: Path, read: Read, db: apsw.Connection) -> None:
    session(home, claude())
    read()
    read_records(db, home, {}, NOW + (KEPT_DAYS + 1) * DAY)
    assert names(db) == []


def test_calls_of_toolcribs_own_menu_are_left_to_the_journal(home: Path, read: Read) -> None:
    session(home, claude(tool="mcp__toolcrib__call_tool"))
    assert read().calls == 0


def codex(kind: str, payload: dict[str, Any]) -> str:
    line = {"timestamp": AT, "type": "event_msg", "payload": {"type": kind, **payload}}
    return json.dumps(line) + "\n"


def test_both_spellings_of_codex_are_read(home: Path, read: Read, db: apsw.Connection) -> None:
    file = home / ".codex" / "sessions" / "2026" / "11" / "26" / "rollout-1.jsonl"
    file.parent.mkdir(parents=True)
    old = {"call_id": "c1", "invocation": {"server": "a-b", "tool": "x.y", "arguments": {}}}
    item = {"type": "McpToolCall", "id": "c2", "server": "a-b", "tool": "x.y"}
    file.write_text(codex("mcp_tool_call_end", old) + codex("item_completed", {"item": item}))
    os.utime(file, (NOW, NOW))
    assert read().calls == 2
    assert names(db) == [("a-b", "x.y", 2)]


def test_a_folder_that_a_variable_names_is_read(home: Path, db: apsw.Connection) -> None:
    session(home / "moved", claude())
    report = read_records(db, home, {"CLAUDE_CONFIG_DIR": str(home / "moved" / ".claude")}, NOW)
    assert report.calls == 1


def test_opencode_is_opened_for_reading_only(home: Path, read: Read, db: apsw.Connection) -> None:
    file = home / ".local" / "share" / "opencode" / "opencode.db"
    file.parent.mkdir(parents=True)
    other = apsw.Connection(str(file))
    other.execute("CREATE TABLE part (id TEXT, time_updated INTEGER, data TEXT)")
    rows = [
        ("p1", '{"type":"tool","tool":"files_read","state":{"input":{"q":"PRIVATE"}}}'),
        ("p2", '{"type":"text","text":"PRIVATE"}'),
        ("p3", '{"reason":"stop","type":"step-finish"}'),
        ("p4", '{"type":"tool",'),
    ]
    other.executemany(
        "INSERT INTO part VALUES (?, ?, ?)", [(i, int(NOW * 1000), d) for i, d in rows]
    )
    other.close()
    before = file.read_bytes()
    report = read()
    assert (report.calls, report.requests) == (1, 1)
    assert file.read_bytes() == before
    assert read().read == 0


def test_a_database_of_opencode_that_is_none_costs_a_note(home: Path, read: Read) -> None:
    file = home / ".local" / "share" / "opencode" / "opencode.db"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no database" * 1000)
    assert len(read().notes) == 1


def test_names_that_hosts_respell_are_found_in_the_catalogue(
    home: Path, read: Read, db: apsw.Connection, add_server: Callable[..., int]
) -> None:
    add_server("my.files", "read-file", "write.file")
    session(
        home, claude("1", "mcp__my_files__read-file") + claude("2", "mcp__my_files__write_file")
    )
    read()
    use = host_use(db, NOW - DAY)
    assert use.calls == {"my.files/read-file": 1, "my.files/write.file": 1}
    assert use.unknown == 0
    sessions = recorded_sessions(db, NOW - DAY)
    assert [(one.folder, one.calls) for one in sessions] == [("-repo", use.calls)]


def test_a_name_that_two_tools_have_counts_for_neither(
    home: Path, read: Read, db: apsw.Connection, add_server: Callable[..., int]
) -> None:
    add_server("a", "b_c")
    add_server("a_b", "c")
    session(home, claude("1", "mcp__a__b_c"))
    read()
    use = host_use(db, NOW - DAY)
    assert (use.calls, use.unknown) == ({}, 1)
