"""The bridge: answers arrive on the GUI thread, in order, and never after close."""

import threading

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from app.core.changes import Changes
from app.core.context import AppContext
from app.core.errors import ToolcribError
from ui.shell.tasks import Job, Tasks


@pytest.fixture
def tasks(qapp, ctx: AppContext):
    bridge = Tasks(ctx)
    yield bridge
    bridge.close()


def test_an_answer_arrives_on_the_gui_thread(tasks: Tasks, qtbot: QtBot):
    seen = []
    tasks.request(
        lambda db: (threading.current_thread().name, db.execute("select 7").fetchall()),
        lambda result: seen.append((result, threading.current_thread())),
    )
    qtbot.waitUntil(lambda: bool(seen))
    (worker, rows), here = seen[0]
    assert worker.startswith("toolcrib-store")
    assert rows == [(7,)]
    assert here is threading.main_thread()


def test_answers_keep_their_order(tasks: Tasks, qtbot: QtBot):
    seen: list[int] = []
    for number in range(200):
        tasks.request(lambda db, n=number: n, seen.append)
    qtbot.waitUntil(lambda: len(seen) == 200)
    assert seen == list(range(200))


def test_a_change_is_announced(tasks: Tasks, qtbot: QtBot):
    with qtbot.waitSignal(tasks.changed) as caught:
        tasks.change(lambda db: Changes(profile=True))
    assert caught.args == [Changes(profile=True), None]


def test_an_error_reaches_failed_or_the_signal(tasks: Tasks, qtbot: QtBot):
    def fail(db):
        raise ToolcribError("No.", "Try another.")

    seen: list[ToolcribError] = []
    tasks.request(fail, lambda _: None, seen.append)
    qtbot.waitUntil(lambda: bool(seen))
    assert seen[0].title == "No."
    with qtbot.waitSignal(tasks.failed) as caught:
        tasks.request(fail, lambda _: None)
    assert caught.args[0].hint == "Try another."


def test_an_unforeseen_error_becomes_a_sentence(tasks: Tasks, qtbot: QtBot):
    with qtbot.waitSignal(tasks.failed) as caught:
        tasks.request(lambda db: 1 / 0, lambda _: None)
    assert "ZeroDivisionError" in caught.args[0].title


def test_long_work_reports_and_is_cancelled(tasks: Tasks, qtbot: QtBot):
    heard: list[str] = []
    ended: list[bool] = []

    def wait(job: Job) -> bool:
        job.report("begun")
        return job.cancelled.wait(20)

    job = tasks.work(wait, ended.append, progress=heard.append)
    qtbot.waitUntil(lambda: heard == ["begun"])
    assert not ended
    job.cancel()
    qtbot.waitUntil(lambda: ended == [True])
    assert tasks.idle


def test_closing_ends_long_work_and_delivers_nothing_more(qapp, ctx: AppContext, qtbot: QtBot):
    bridge = Tasks(ctx)
    heard: list[object] = []
    bridge.work(lambda job: job.cancelled.wait(20), heard.append, progress=heard.append)
    for _ in range(20):
        bridge.request(lambda db: 1, heard.append)
    bridge.close()
    qapp.processEvents()
    assert heard == []
    bridge.request(lambda db: 1, heard.append)
    bridge.close()
    assert bridge.idle


def test_what_was_changed_before_closing_is_written(qapp, ctx: AppContext):
    bridge = Tasks(ctx)

    def write(db):
        db.execute("create table kept (n)")
        return Changes()

    bridge.change(write)
    bridge.close()
    db = ctx.open_store()
    assert db.execute("select count(*) from kept").fetchall() == [(0,)]
    db.close()


def test_only_the_newest_request_of_a_key_is_answered(tasks, qtbot):
    answers, runs = [], []
    gate = threading.Event()
    tasks.request(lambda _db: gate.wait(10), lambda _done: None)

    def request(number):
        tasks.latest("key", lambda _db: runs.append(number) or number, answers.append)

    for number in range(5):
        request(number)
    tasks.latest("other", lambda _db: "other", answers.append)
    gate.set()
    qtbot.waitUntil(lambda: tasks.idle)
    assert answers == [4, "other"]
    assert runs == [4]  # those that were overtaken cost nothing


def test_an_overtaken_request_fails_in_silence(tasks, qtbot):
    problems = []

    def fail(_db):
        raise ToolcribError("Too late.")

    tasks.latest("key", fail, lambda _none: None, problems.append)
    tasks.overtake("key")
    qtbot.waitUntil(lambda: tasks.idle)
    assert problems == []


def test_what_was_deleted_meanwhile_gets_no_answer(tasks, qtbot):
    owner, seen, free = QWidget(), [], threading.Event()
    tasks.wait(lambda _job: free.wait(5), seen.append, owner=owner)
    tasks.wait(lambda _job: 1 / 0, seen.append, failed=seen.append, owner=owner)
    tasks.latest("key", lambda _db: free.wait(5), seen.append, owner=owner)
    delete(owner)
    free.set()
    with qtbot.waitSignal(tasks.busy):
        pass
    assert tasks.idle and not seen
