"""The journal never blocks a call; what it cannot keep it counts."""

import json
import os
import threading
from contextlib import closing

import apsw
import pytest

from app.core.scrubber import HIDDEN, Scrubber
from app.gateway import journal as module
from app.gateway.call import problem_of
from app.gateway.journal import Journal
from app.gateway.journal_tail import FOLDER, JournalTail, take_left
from store import events
from store.connection import open_store


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "toolcrib.db"
    open_store(path).close()
    return path


def make(database, **more):
    return Journal(lambda: open_store(database), profile="p", session="s", **more)


def kept(database):
    db = open_store(database)
    try:
        return events.recent(db, 100_000)
    finally:
        db.close()


def test_events_arrive_with_profile_session_and_host(database):
    journal = make(database, clock=lambda: 12.5)
    journal.host = "claude-code"
    journal.add("call", tool="a/b", ms=1.5, detail={"x": 1})
    journal.close(10)
    (event,) = kept(database)
    assert (event.kind, event.tool, event.profile, event.session, event.host, event.at) == (
        "call",
        "a/b",
        "p",
        "s",
        "claude-code",
        12.5,
    )


def test_a_full_queue_drops_and_says_how_many(database, monkeypatch):
    monkeypatch.setattr(module, "CAPACITY", 5)
    gate = threading.Event()

    def slow():
        gate.wait(10)
        return open_store(database)

    journal = Journal(slow, profile="p", session="s")
    for number in range(12):
        journal.add("call", tool=str(number))
    gate.set()
    journal.close(10)
    found = kept(database)
    assert journal.dropped == 0
    lost = [e.problem for e in found if e.kind == "error"]
    assert len([e for e in found if e.kind == "call"]) + int(lost[0].split()[-1]) == 12


def test_a_store_that_cannot_be_written_costs_nothing_but_the_events(tmp_path):
    def broken():
        raise apsw.CantOpenError("no")

    journal = Journal(broken, profile="p", session="s")
    journal.add("call", tool="a/b")
    journal.close(10)
    assert journal.dropped == 1


class FullDisk:
    """A store that takes no event until there is room; `tried` is set by the third attempt."""

    def __init__(self, database):
        self.database = database
        self.room, self.tried, self.taken = (threading.Event() for _ in range(3))
        self.attempts = 0

    def open(self):
        db = open_store(self.database)
        db.create_scalar_function("has_room", self.has_room)
        refused = (
            "BEFORE INSERT ON events WHEN NOT has_room() BEGIN SELECT raise(ABORT, 'full'); END"
        )
        db.execute(f"CREATE TEMP TRIGGER full {refused}")
        return db

    def has_room(self):
        self.attempts += 1
        if self.attempts == 3:
            self.tried.set()
        if self.room.is_set():
            self.taken.set()
        return self.room.is_set()


@pytest.mark.parametrize("room", [True, False], ids=["room for a file", "no room"])
def test_what_a_full_disk_lost_is_said_when_the_session_ends(database, room, capfd):
    home = database.parent
    journal = Journal(FullDisk(database).open, profile="p", session="s", folder=str(home))
    if not room:
        (home / FOLDER).write_bytes(b"no folder")
    journal.add("call", tool="a/b")
    for _ in range(3):
        journal.add("search", query="x")
    journal.close(10)
    if not room:
        assert capfd.readouterr().err == "toolcrib-gateway: events dropped: 4\n"
        return
    with closing(open_store(database)) as db:
        assert take_left(db, str(home)) == 2
    said, call = kept(database)
    assert (said.kind, said.problem) == ("error", "events dropped: 3")
    assert (call.kind, call.tool) == ("call", "a/b")
    assert not list((home / FOLDER).iterdir())


def test_what_a_keychain_that_hangs_keeps_back_is_said_when_the_process_ends(database):
    home, asked, hangs = database.parent, threading.Event(), threading.Event()
    hide_all = lambda _db, event: (asked.set(), hangs.wait(30), event)[2]  # noqa: E731
    journal = make(database, folder=str(home), hide_all=hide_all)
    journal.add("search", query="x")
    assert asked.wait(30)
    journal.add("call", tool="a/b")
    journal.close(0.2)
    (file,) = (home / FOLDER).iterdir()
    call, note = map(json.loads, file.read_bytes().splitlines())
    assert (call["tool"], note["problem"]) == ("a/b", "events dropped: 1")
    hangs.set()
    journal.close(10)
    assert {event.kind for event in kept(database)} == {"search", "call"}
    assert not list((home / FOLDER).iterdir()), "a process that goes on loses nothing"


def test_a_credential_in_a_query_is_dots(database):
    journal = make(database)
    journal.add("search", query="sign in with ghp_" + "a1b2c3d4" * 4)
    journal.close(10)
    assert [event.query for event in kept(database)] == [f"sign in with {HIDDEN}"]


def test_calls_that_only_a_file_had_are_taken_once_there_is_room_again(database):
    home, disk = database.parent, FullDisk(database)
    journal = Journal(disk.open, profile="p", session="s", folder=str(home))
    journal.add("call", tool="a/b")
    assert disk.tried.wait(10)
    disk.room.set()
    journal.add("call", tool="a/c")
    assert disk.taken.wait(10)
    journal.close(10)
    assert {event.tool for event in kept(database)} == {"a/b", "a/c"}
    assert not list((home / FOLDER).iterdir())


def test_a_line_that_a_full_disk_cut_spoils_no_other(database, monkeypatch):
    home, write = database.parent, os.write
    tail = JournalTail(str(home))
    assert tail.keep({"at": 1.0, "kind": "call", "tool": "a/b"})
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:9]))
    assert not tail.keep({"at": 2.0, "kind": "call", "tool": "a/c"})
    monkeypatch.undo()
    assert tail.keep({"at": 3.0, "kind": "call", "tool": "a/d"})
    tail.leave()
    with closing(open_store(database)) as db:
        take_left(db, str(home))
    assert [event.tool for event in kept(database)] == ["a/d", "a/b"]


def test_only_the_newest_events_are_kept(database, monkeypatch):
    monkeypatch.setattr(module, "_KEEP_EVERY", 10)
    journal = make(database, keep=lambda: 20)
    for number in range(100):
        journal.add("call", tool=str(number))
    journal.close(10)
    assert {e.tool for e in kept(database)} == {str(n) for n in range(80, 100)}


def test_closing_an_unused_journal_opens_nothing(tmp_path):
    Journal(lambda: 1 / 0, profile="p", session="s").close()


KEY = "k7Qw-9zPx-33ab"


def test_no_secret_is_cut_in_two_where_a_text_is_cut(database):
    journal = make(database, hide_all=lambda _db, event: Scrubber([KEY]).json(event))
    message, words = {"error": {"message": "e" * 295 + KEY}}, "find it " * 61 + "with a "
    journal.add("call", tool="a/b", problem=problem_of(message))
    journal.add("search", query=words + KEY)
    journal.close(10)
    search, call = kept(database)
    assert call.problem == "e" * 295 + HIDDEN and search.query == words + HIDDEN


HALF = "x\ud800"  # of a character, as JSON may hold it and no database takes it


def test_halves_of_characters_cost_no_event(database):
    journal = make(database)
    journal.host = HALF
    journal.add("search", query=HALF, problem=HALF, detail={"near": [HALF]})
    journal.add("miss", tool=HALF + "y" * 1_000_000)
    journal.close(10)
    missed, searched = kept(database)
    assert (searched.host, searched.query, searched.problem) == ("x?", "x?", "x?")
    assert searched.detail == {"near": ["x?"]}
    assert missed.tool.startswith("x?yyy") and len(missed.tool) == 300
