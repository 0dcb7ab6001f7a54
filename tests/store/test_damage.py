"""Damage is looked for in every table, those without row numbers among them."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from store.connection import open_store, transaction
from store.damage import COLUMNS, WITHOUT_ROWID, damaged_rows
from store.repair import repair


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    made = open_store(tmp_path / "toolcrib.db")
    yield made
    made.close()


def test_a_whole_store_is_looked_through_in_every_table(db: apsw.Connection) -> None:
    assert list(damaged_rows(db)) == []
    shapes = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    looked_at = {table for table, *_ in COLUMNS}
    assert {name for name in looked_at if "WITHOUT ROWID" in shapes[name]} == WITHOUT_ROWID


def test_a_teams_damaged_rows_go_and_are_fetched_again(db: apsw.Connection, tmp_path: Path) -> None:
    with transaction(db):
        db.execute(
            "INSERT INTO teams (url, organisation, member, role, cursor, complete, joined_at)"
            " VALUES ('https://t', 'o', 'm', 'r', 7, 1, 0)"
        )
        for number, body in enumerate(("{}", "{", "[]")):
            db.execute("INSERT INTO team_rows VALUES (1, 'tool', ?, '', ?, 0, 0)", (number, body))
    assert [row.table for row in damaged_rows(db)] == ["team_rows", "team_rows"]
    copy, _ = repair(str(tmp_path / "toolcrib.db"), "now")
    assert copy and list(damaged_rows(db)) == []
    assert list(db.execute("SELECT remote_id FROM team_rows")) == [(0,)]
    assert list(db.execute("SELECT cursor, complete FROM teams")) == [(0, 0)]
