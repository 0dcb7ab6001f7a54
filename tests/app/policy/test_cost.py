"""Cost is tokens of a request, times requests seen; a projection that says its assumption."""

import apsw
import pytest

from app.policy.cost import ASSUMPTION, HostCost
from app.policy.usage import DAY, read_usage
from store import events, host_records
from store.connection import transaction
from store.records import EventRecord, HostCall, HostRecord

NOW = 20_000 * DAY


def test_a_month_is_projected_from_the_days_observed() -> None:
    cost = HostCost("claude-code", tokens=10_000, requests=300, days=10, price=3.0)
    assert cost.monthly_requests == pytest.approx(900)
    assert cost.monthly_tokens == pytest.approx(9_000_000)
    assert cost.monthly_price == pytest.approx(27.0)
    assert cost.saving(4_000) == pytest.approx(3_600_000)
    assert cost.saving(40_000) == pytest.approx(9_000_000)


def test_less_than_a_day_is_projected_as_one() -> None:
    assert HostCost("x", 1_000, 10, days=0.01).monthly_requests == pytest.approx(300)


def test_without_requests_nothing_is_projected() -> None:
    assert not HostCost("x", 1_000, 0, days=0.0).known
    assert "Projected" in ASSUMPTION


def test_journal_and_records_of_one_call_count_once(
    db: apsw.Connection, add_server: object
) -> None:
    add_server("files", "read", "write")  # type: ignore[operator]
    with transaction(db):
        at = NOW - 9 * DAY
        events.add(db, [EventRecord(at, "call", tool="files/read", host="codex")] * 3)
        record = host_records.save_record(db, HostRecord(0, "codex", "/s.jsonl", 1, NOW))
        calls = [HostCall(bytes([n]) * 8, "files", "read", at) for n in range(3)]
        calls += [HostCall(bytes([9 + n]) * 8, "files", "write", at + n) for n in range(2)]
        host_records.add_calls(db, record, "codex", calls)
        host_records.add_requests(db, record, [(int(at // DAY), 7)])
    usage = read_usage(db, NOW)
    assert usage.calls == {"files/read": 3, "files/write": 2}
    assert usage.requests == {"codex": 7} and usage.enough
    assert usage.evidence == (
        "Observed 9 days, 1 host, 5 calls, from the gateway's journal and the records of Codex."
    )
