"""Every state of the store, of app and of the window has its badge in the one table."""

import pytest

from app.hooks.usage import HIT, MISSED, NONE, OTHER, SILENT, UNSEEN
from app.host_status.drift import GONE, IN_SYNC, OUTSIDE
from app.host_status.status import CHANGES, NOT_FOUND, UNREADABLE
from app.policy.budget import BLOCK, PASS, WARN
from app.safety.review import APPROVED, KEPT, OFF
from store import records
from ui.pages.activity.event_rows import FAILED, WARNED
from ui.pages.query_set.query_rows import FAILING, FIXED, NEW, PASSED, REGRESSED, STILL
from ui.shell.badges import BADGES, badge
from ui.shell.strip_marks import HELD, IN, OUT

SERVERS = (
    records.CONFIGURED,
    records.WAITING,
    records.READING,
    records.READ,
    records.NEEDS_SIGN_IN,
    records.COULD_NOT_START,
    records.TOOK_TOO_LONG,
    records.STOPPED,
)
HOSTS = (CHANGES, OUTSIDE, UNREADABLE, NOT_FOUND)
REVIEW = (APPROVED, KEPT, OFF)
SUGGESTIONS = (HIT, OTHER, NONE, UNSEEN, SILENT, MISSED)
QUERIES = (PASSED, FIXED, FAILING, STILL, REGRESSED, NEW)


@pytest.mark.parametrize(
    "state",
    [
        *SERVERS,
        *HOSTS,
        *REVIEW,
        *SUGGESTIONS,
        *QUERIES,
        PASS,
        WARN,
        BLOCK,
        *map(str.capitalize, (IN, OUT, HELD)),
        *WARNED,
        FAILED,
    ],
)
def test_a_state_has_its_badge(state):
    assert BADGES[state].word and BADGES[state].icon


def test_the_normal_state_of_a_host_has_none():
    assert IN_SYNC not in BADGES and GONE not in BADGES


def test_a_badge_can_say_how_many():
    assert badge("some held", "3 held back").icon == badge("some held").icon
    assert badge("some held", "3 held back").word == "3 held back"
