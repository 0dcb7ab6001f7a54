"""A real Postgres for tests of the team: one cluster a run, a fresh database a module."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
from pgvector import HalfVector
from psycopg import sql

from app.team_server.trial import Trial, start
from store.team import servers
from store.team.connecting import Connection
from store.team.migrate import migrate
from store.team.records import NewServer

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


def variants(rows: np.ndarray, count: int, *, seed: int, spread: float = 0.6) -> np.ndarray:
    """So many unit vectors near to real ones (perturbed): of noise HNSW says nothing."""
    rng = np.random.default_rng(seed)
    chosen = rows[rng.integers(0, len(rows), count)]
    noise = rng.standard_normal(chosen.shape).astype(np.float32)
    noise *= spread / np.linalg.norm(noise, axis=1, keepdims=True)
    mixed = chosen + noise
    return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)


def copy_vectors(
    db: Connection, organisation: int, server: NewServer, vectors: np.ndarray, model: str
) -> list[int]:
    """A server with a tool a vector, written by COPY; the tools' ids in order."""
    server_id = servers.save(db, organisation, server)
    db.execute("CREATE TEMP TABLE rows (n int, v halfvec(384)) ON COMMIT DROP")
    with db.cursor() as cursor:
        with cursor.copy("COPY rows FROM STDIN WITH (FORMAT binary)") as copy:
            copy.set_types(["int4", "halfvec"])
            for at, row in enumerate(vectors):
                copy.write_row((at, HalfVector(row)))
        cursor.execute(
            "INSERT INTO tools (organisation_id, server_id, scope_id, tool_id, name, raw, hash)"
            " SELECT s.organisation_id, s.id, s.scope_id, s.name || '/t' || n, 't' || n, '{}', ''"
            " FROM rows, servers s WHERE s.id = %s ORDER BY n RETURNING id",
            (server_id,),
        )
        ids = [row[0] for row in cursor.fetchall()]
        cursor.execute(
            "INSERT INTO tool_vectors SELECT u.id, s.organisation_id, s.scope_id, %s, '', r.v"
            " FROM rows r JOIN unnest(%s::bigint[]) WITH ORDINALITY u(id, n) ON u.n = r.n + 1,"
            " servers s WHERE s.id = %s",
            (model, ids, server_id),
        )
        cursor.execute("DROP TABLE rows")
    return ids
