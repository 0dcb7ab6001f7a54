"""Context of every operation: paths of files, settings, clock. Never global."""

import os
import time
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

import apsw

from app.core.paths import Paths
from app.core.settings import Settings
from store.connection import open_store

Db = apsw.Connection  # the name under which the window knows a connection


@dataclass(slots=True)
class AppContext:
    """Toolcrib's own files, its settings, and the time of day; only `keep` changes it.

    `shared` has what is large and used by several parts, for as long as one of them holds it.
    """

    paths: Paths
    settings: Settings
    clock: Callable[[], float] = time.time
    shared: MutableMapping[Hashable, object] = field(
        default_factory=WeakValueDictionary, repr=False, compare=False
    )

    @classmethod
    def default(cls, environ: Mapping[str, str] = os.environ) -> "AppContext":
        """The user's own context; raises ToolcribError for unreadable settings."""
        paths = Paths.default(environ)
        return cls(paths, Settings.load(paths.settings_file))

    def keep(self, **changes: object) -> None:
        """Change settings for now and for the next start; raises ToolcribError.

        Changes that another process wrote to the file meanwhile are kept.
        """
        new = replace(Settings.load(self.paths.settings_file), **changes)  # type: ignore[arg-type]
        new.save(self.paths.settings_file)
        self.settings = new

    def open_store(self) -> apsw.Connection:
        """A connection of one's own; one per thread. Raises StoreError."""
        return open_store(self.paths.database)

    def store(self) -> closing[apsw.Connection]:
        """The same for a `with` statement, which closes it."""
        return closing(self.open_store())
