"""Connections that only listen for changes: told of each, and in nobody's way."""

import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.gateway.backend.client import start, watch
from app.gateway.backend.rendezvous import Place
from store import profiles
from store.connection import open_store, transaction

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.usefixtures("encoderless", "backends")


@pytest.fixture
def running(
    stocked: Callable[..., Path], place: Place, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The database of a backend that runs and would end after eight idle seconds."""
    monkeypatch.delenv("TOOLCRIB_STANDALONE", raising=False)
    monkeypatch.setenv("TOOLCRIB_HOME", str(home))
    monkeypatch.setenv("TOOLCRIB_BACKEND_IDLE", "8")
    database = stocked({"alpha": "ok"})
    assert start(place)
    return database


def lines(link: Any, seconds: float) -> bytes:
    """What comes within that time, at the first sign of it."""
    ready, _, _ = select.select([link], [], [], seconds)
    return link.recv(4096) if ready else b""


def greeted(place: Place) -> Any:
    link = watch(place)
    assert link is not None
    data, limit = b"", time.monotonic() + 20
    while b"changed" not in data:  # it may have missed something before it came
        assert time.monotonic() < limit
        data += lines(link, 1)
    return link


def test_each_window_hears_of_a_change_and_one_that_left_is_forgotten(
    running: Path, place: Place, backends: Callable[[], list[psutil.Process]]
) -> None:
    first, second, gone = (greeted(place) for _ in range(3))
    gone.close()
    db = open_store(running)
    with transaction(db):
        profiles.create(db, "another")
    db.close()
    assert lines(first, 20) == lines(second, 20) == b"changed\n"
    first.close()
    second.close()
    (process,) = backends()
    process.wait(30)  # windows that listen do not keep it


def test_a_listener_does_not_keep_the_process_and_hears_its_end(
    running: Path, place: Place, backends: Callable[[], list[psutil.Process]]
) -> None:
    link = greeted(place)
    (process,) = backends()
    process.wait(30)
    assert select.select([link], [], [], 20)[0] and link.recv(1) == b""
    link.close()


def test_without_a_backend_there_is_nothing_to_hear(place: Place) -> None:
    assert watch(place) is None
