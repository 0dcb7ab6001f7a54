"""A host that kills its gateway right after an answer loses no call of the journal."""

import json
import os
import signal
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from raw_host import text

from app.core.scrubber import HIDDEN, Scrubber
from app.gateway.journal import Journal
from app.gateway.journal_tail import FOLDER, JournalTail, take_left
from store import events
from store.connection import open_store

KEY = "k7Qw-9zPx-33ab"
pytestmark = pytest.mark.usefixtures("encoderless")


def calls(database: Path) -> list[str]:
    db = open_store(database)
    try:
        take_left(db, str(database.parent))
        rows = events.recent(db, 1_000)
    finally:
        db.close()
    return [row.tool for row in rows if row.kind == "call"]


@pytest.mark.parametrize("options", [(), ("--server", "probe")], ids=["through", "alone"])
def test_a_kill_right_after_the_answer_loses_no_call(
    stocked: Any, gateway: Any, options: tuple[str, ...]
) -> None:
    database = stocked({"probe": "ok"})
    for number in range(1, 6):
        host = gateway(*options)
        host.initialize()
        answer = (
            host.call("echo", {"text": "hi"}) if options else host.run("probe/echo", {"text": "hi"})
        )
        os.kill(host.process.pid, signal.SIGKILL)
        host.process.wait(10)
        assert text(answer) == "hi"
        assert calls(database) == ["probe/echo"] * number
    assert list((database.parent / FOLDER).iterdir()) == []


def test_a_session_that_ends_well_leaves_no_file(stocked: Any, gateway: Any) -> None:
    database = stocked({"probe": "ok"})
    host = gateway()
    host.initialize()
    host.run("probe/echo", {"text": "hi"})
    host.close()
    assert list((database.parent / FOLDER).iterdir()) == []
    assert calls(database) == ["probe/echo"]


def journal_over(home: Path, **more: Any) -> tuple[Path, Journal]:
    """A fresh store's file, and a journal that writes to it."""
    database = home / "toolcrib.db"
    open_store(database).close()
    return database, Journal(lambda: open_store(database), profile="p", session="s", **more)


def test_events_that_the_store_has_already_are_not_taken_twice(tmp_path: Path) -> None:
    database, journal = journal_over(tmp_path, folder=str(tmp_path), clock=lambda: 5.5)
    journal.add("call", tool="a/b")
    (file,) = (tmp_path / FOLDER).iterdir()
    kept = file.read_bytes()
    journal.close(10)
    file.write_bytes(kept + b'{"at": 6.5, "kind": "call", "tool": "a/c", "sess')
    assert calls(database) == ["a/b"] and not file.exists()


def test_the_file_holds_no_text_of_an_answer_or_an_argument(tmp_path: Path) -> None:
    database = tmp_path / "toolcrib.db"
    open_store(database).close()
    looked = threading.Event()  # the store takes the calls no earlier

    def opened() -> apsw.Connection:
        assert looked.wait(30)
        return open_store(database)

    journal = Journal(opened, profile="p", session="s", folder=str(tmp_path))
    journal.add("call", tool="a/b", problem=f"no account of key {KEY}")
    journal.add("call", tool="a/run", detail={"behind": KEY, "by_name": True})
    (file,) = (tmp_path / FOLDER).iterdir()
    kept = file.read_bytes()
    looked.set()
    journal.close(10)
    assert b"a/b" in kept and b"by_name" in kept and KEY.encode() not in kept


def test_a_name_among_arguments_is_compared_with_every_secret(tmp_path: Path) -> None:
    scrubber = Scrubber([KEY])
    database, journal = journal_over(tmp_path, hide_all=lambda _db, event: scrubber.json(event))
    journal.add("call", tool="a/run", detail={"behind": KEY})
    journal.close(10)
    with closing(open_store(database)) as db:
        (event,) = events.recent(db, 10)
    assert event.detail == {"behind": HIDDEN}


@pytest.mark.parametrize(("name", "kept"), [(KEY, HIDDEN), ("claude-code", "claude-code")])
def test_a_host_that_names_itself_by_a_secret_is_dots(tmp_path: Path, name: str, kept: str) -> None:
    database = tmp_path / "toolcrib.db"
    looked, asked = threading.Event(), []

    def opened() -> apsw.Connection:
        assert looked.wait(30)
        return open_store(database)

    def hide(_db: apsw.Connection, event: Any) -> Any:
        asked.append(event["kind"])
        return Scrubber([KEY]).json(event)

    home = str(tmp_path)
    journal = Journal(opened, profile="p", session="s", hide_all=hide, folder=home)
    journal.host = name
    journal.add("call", tool="a/b")
    journal.add("list")
    (file,) = (tmp_path / FOLDER).iterdir()
    assert json.loads(file.read_bytes())["host"] == kept
    looked.set()
    journal.close(10)
    with closing(open_store(database)) as db:
        assert [event.host for event in events.recent(db, 10)] == [kept, kept]
    assert len(asked) == (2 if kept == HIDDEN else 0), "the keychain is not read for plain names"


def test_a_living_session_keeps_its_file(tmp_path: Path) -> None:
    database = tmp_path / "toolcrib.db"
    open_store(database).close()
    tail = JournalTail(str(tmp_path))
    tail.keep({"at": 1.0, "kind": "call", "tool": "a/b", "session": "s"})
    assert calls(database) == []
    tail.close()
