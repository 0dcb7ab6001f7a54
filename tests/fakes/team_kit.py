"""A real Postgres for tests of the team: one cluster a run, a fresh database a module."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
from psycopg import sql

from app.team_server.trial import Trial, start
from store.team.migrate import migrate

_NUMBERS = itertools.count(1)


def cluster(folder: Path) -> Trial:
    """The cluster of a run; what a test writes need not outlive the machine's power."""
    trial = start(folder)
    with psycopg.connect(trial.dsn(), autocommit=True) as db:
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            db.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(name)))
        db.execute("SELECT pg_reload_conf()")
    return trial


@contextmanager
def fresh_database(trial: Trial, *, empty: bool = False) -> Iterator[str]:
    """Address of a new database, with the newest schema unless `empty`; dropped afterwards."""
    name = f"test_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(trial.dsn(), autocommit=True) as db:
        db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        if not empty:
            migrate(trial.dsn(name))
        yield trial.dsn(name)
    finally:
        with psycopg.connect(trial.dsn(), autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def unit(seed: int) -> bytes:
    """A vector of unit length as float32 bytes."""
    vector = np.random.default_rng(seed).standard_normal(384).astype("<f4")
    return (vector / np.linalg.norm(vector)).astype("<f4").tobytes()
