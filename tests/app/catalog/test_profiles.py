"""Profiles made, renamed, forgotten and brought back."""

import apsw
import pytest

from app.catalog.catalog import find_profile
from app.core.errors import ToolcribError
from app.policy import profiles
from store import exports
from store import profiles as rows
from store.connection import transaction
from store.records import ExportRecord


def wrote(number: int, mode: str, profile: str, *, undone: float = 0.0) -> ExportRecord:
    return ExportRecord(
        number, 1.0, "cursor", "user", "/x/mcp.json", mode, profile, "a", "b", "", undone
    )


@pytest.mark.parametrize(
    ("history", "found"),
    [
        ((), ""),
        ([wrote(1, "through", "work")], "work"),
        ([wrote(2, "through", "home"), wrote(1, "pruned", "work")], "home"),
        ([wrote(2, "as-is", "home"), wrote(1, "pruned", "work")], ""),
        ([wrote(2, "through", "home", undone=9.0), wrote(1, "pruned", "work")], "work"),
    ],
)
def test_the_newest_write_that_stands_says_what_a_host_gets(history, found) -> None:
    assert profiles.profile_of(history) == found


@pytest.mark.parametrize("name", ["", "default", "-x", " x", "x\n", "x" * 61])
def test_names_that_cannot_be(db: apsw.Connection, name: str) -> None:
    with pytest.raises(ToolcribError):
        profiles.create(db, name)
    assert profiles.names(db) == ("default",)


def test_a_forgotten_profile_comes_back_whole(db: apsw.Connection) -> None:
    profiles.create(db, "work")
    with transaction(db):
        rows.save_settings(db, find_profile(db, "work").id, {"routing": {"k": 3}})
    kept = profiles.forget(db, "work")
    assert profiles.names(db) == ("default",)
    profiles.bring_back(db, kept)
    assert find_profile(db, "work").settings == {"routing": {"k": 3}}


def test_ticks_of_tools_that_went_meanwhile_are_left_out(db: apsw.Connection) -> None:
    profiles.create(db, "work")
    kept = profiles.forget(db, "work")
    gone = profiles.DeletedProfile(kept.profile, (rows.ToolState(99, on=False),))
    profiles.bring_back(db, gone)
    assert rows.states(db, find_profile(db, "work").id) == {}


@pytest.mark.parametrize("mode", ["native", "pruned", "through"])
def test_a_profile_that_a_host_gets_stays(db: apsw.Connection, mode: str) -> None:
    profiles.create(db, "work")
    with transaction(db):
        number = exports.add(db, wrote(0, mode, "work"))
    for refused in (lambda: profiles.forget(db, "work"), lambda: profiles.rename(db, "work", "x")):
        with pytest.raises(ToolcribError, match="Cursor gets the profile work") as caught:
            refused()
        assert caught.value.hint.startswith("Write another profile")
    with transaction(db):
        exports.mark_undone(db, number, 2.0)
    profiles.rename(db, "work", "team")
    assert profiles.names(db) == ("default", "team")


def test_default_stays(db: apsw.Connection) -> None:
    with pytest.raises(ToolcribError, match="default stays"):
        profiles.forget(db, "default")


def test_what_was_decided_before_a_profile_went_can_still_be_taken_back(
    db: apsw.Connection,
) -> None:
    for name in ("work", "team"):
        profiles.create(db, name)
    before = find_profile(db, "work").id
    profiles.bring_back(db, profiles.forget(db, "work"))
    assert find_profile(db, "work").id == before
    assert profiles.names(db) == ("default", "work", "team")


def test_a_name_that_was_given_away_meanwhile_is_not_taken_back(db: apsw.Connection) -> None:
    profiles.create(db, "work")
    kept = profiles.forget(db, "work")
    profiles.create(db, "work")
    with pytest.raises(ToolcribError, match="a profile called work already"):
        profiles.bring_back(db, kept)
