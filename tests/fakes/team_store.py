"""Fixtures of a real Postgres for tests of the team; a conftest imports those it needs."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from psycopg_pool import ConnectionPool

from app.team_server.trial import Trial
from store.team import members, organisations
from store.team.connecting import Connection, as_owner, open_pool
from store.team.records import Member
from tests.fakes.team_kit import cluster, fresh_database


@dataclass(frozen=True)
class Team:
    """An organisation with one member of each role."""

    admin: Member
    editor: Member
    member: Member

    @property
    def id(self) -> int:
        return self.admin.organisation_id


@pytest.fixture(scope="session")
def postgres(no_process_left_behind: None) -> Iterator[Trial]:
    # a short path: a socket's name has at most 107 characters
    folder = Path(tempfile.mkdtemp(prefix="tcpg"))
    trial = cluster(folder / "pg")
    yield trial
    trial.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def dsn(postgres: Trial) -> Iterator[str]:
    with fresh_database(postgres) as address:
        yield address


@pytest.fixture(scope="module")
def pool(dsn: str) -> Iterator[ConnectionPool[Connection]]:
    made = open_pool(dsn, most=4)
    yield made
    made.close()


@pytest.fixture
def make_team(pool: ConnectionPool[Connection], request: pytest.FixtureRequest):
    def make(name: str) -> Team:
        with as_owner(pool) as db:
            id_ = organisations.create(db, f"{request.node.name}-{name}").id
            return Team(*(members.add(db, id_, f"{role} {name}", role) for role in ROLES))

    return make


ROLES = ("admin", "editor", "member")
