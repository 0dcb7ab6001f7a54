"""The database goes and comes back, a member is removed, a replica stops under a call."""

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.team_server.sealing import new_key
from tests.fakes.team_kit import cluster, fresh_database
from tests.fakes.team_replica import Replica, environment, program
from tests.fakes.web_client import WebClient

REFUSED = "The team server cannot reach its database. Try again soon."
NEW_MEMBER = "jo has the role member in acme, which is new."


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="tcf"))
    yield made
    shutil.rmtree(made)


def until(condition, seconds: float = 40.0) -> None:
    limit = time.monotonic() + seconds
    while True:
        with suppress(OSError):
            if condition():
                return
        assert time.monotonic() < limit
        threading.Event().wait(0.1)


def test_the_database_goes_and_comes_back(folder: Path, no_process_left_behind: None) -> None:
    trial = cluster(folder / "pg")
    try:
        with fresh_database(trial) as dsn:
            given = environment(dsn, new_key())
            add = ("user", "add", "jo", "--organisation", "acme")
            assert program(given, *add) == NEW_MEMBER
            token = program(given, "token", "issue", "jo", "--organisation", "acme")
            assert program(given, "check").startswith("The team server can run")
            replica = Replica(given, folder / "err", int(given["TOOLCRIB_TEAM_URL"].split(":")[2]))
            ready = WebClient(replica.port, "", "/readyz")
            client = WebClient(replica.port, token, "/mcp")
            try:
                until(lambda: ready.send("GET", Authorization=None).status == 200)
                assert client.ask("tools/list").status == 200
                trial.stop()
                until(lambda: ready.send("GET", Authorization=None).status == 503)
                refused = client.ask("tools/list")
                assert (refused.status, refused.last["error"]["message"]) == (503, REFUSED)
                assert WebClient(replica.port, "", "/healthz").send("GET").status == 200
                trial = cluster(folder / "pg")
                until(lambda: ready.send("GET", Authorization=None).status == 200)
                assert client.ask("tools/list").status == 200
                gone = program(given, "user", "remove", "jo", "--organisation", "acme")
                assert gone == "jo has no access any more."
                assert client.ask("tools/list").status == 401
            finally:
                assert replica.stop() == 0
    finally:
        trial.stop()
