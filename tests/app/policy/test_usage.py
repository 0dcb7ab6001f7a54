import apsw
import pytest

from app.policy.sessions import HOST, Owner, Session, read_sessions
from app.policy.usage import DAY, read_usage
from store import events
from store.connection import transaction
from store.records import EventRecord

NOW = 1_000 * DAY


def test_usage_is_read_from_the_journal(db: apsw.Connection) -> None:
    with transaction(db):
        events.add(
            db,
            [
                EventRecord(NOW - 40 * DAY, "call", tool="a/old", host="cursor"),
                EventRecord(NOW - 10 * DAY, "list", host="cursor"),
                EventRecord(NOW - 2 * DAY, "call", tool="a/x", host="cursor", session="1"),
                EventRecord(NOW - 1 * DAY, "call", tool="a/x", host="zed", session="1"),
            ],
        )
    found = read_usage(db, NOW)
    assert found.days == pytest.approx(10)
    assert (found.seen.hosts, found.total, found.calls) == (2, 2, {"a/x": 2})
    assert found.last["a/x"] == NOW - DAY
    assert found.enough


def test_an_empty_journal_is_no_evidence(db: apsw.Connection) -> None:
    found = read_usage(db, NOW)
    assert (found.days, found.total, found.enough) == (0, 0, False)


def test_sessions_hold_their_calls_and_their_host(db: apsw.Connection) -> None:
    calls = [("1", "a/x"), ("1", "b/y"), ("1", "a/x"), ("2", "a/x"), ("", "a/x"), ("", "b/y")]
    with transaction(db):
        events.add(
            db, [EventRecord(NOW, "call", host="Cursor", session=s, tool=t) for s, t in calls]
        )
    cursor = Owner(HOST, "cursor")
    assert read_sessions(db, NOW - DAY) == [
        Session(cursor, {"a/x": 2, "b/y": 1}),
        Session(cursor, {"a/x": 1}),
    ]
