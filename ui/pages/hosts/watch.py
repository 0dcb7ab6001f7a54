"""Watches host files, and the settings, for changes made by others; never rewrites anything."""

from collections.abc import Sequence

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from app.core.paths import Paths
from app.host_status.drift import watched
from app.host_status.status import NOT_FOUND, HostStatus
from app.hosts.places import Places

SETTLE_MS = 300  # editors write in several steps
REHASH_MS = 30_000  # some file systems report nothing


class HostsWatch(QObject):
    """Tells that a host file may have changed.

    Signals: stirred() after a change on disk, and now and then without one.
    """

    stirred = Signal()

    def __init__(self, places: Places, paths: Paths, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._places = places
        self._settings = paths.settings_file  # the endpoint's port, on or off
        self._watcher = QFileSystemWatcher(self)
        self._settle = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._slow = QTimer(self, interval=REHASH_MS)
        self._settle.timeout.connect(self.stirred)
        self._slow.timeout.connect(self.stirred)
        self._watcher.fileChanged.connect(lambda _path: self._settle.start())
        self._watcher.directoryChanged.connect(lambda _path: self._settle.start())
        self._slow.start()

    def follow(self, hosts: Sequence[HostStatus]) -> None:
        """Watch the files of the hosts that are here; a replaced file is watched anew."""
        present = [one.host for one in hosts if one.state != NOT_FOUND]
        wanted = {str(path) for facts in present for path in watched(self._places, facts)}
        wanted |= {str(self._settings)} if self._settings.is_file() else set()
        watching = {*self._watcher.files(), *self._watcher.directories()}
        if gone := watching - wanted:
            self._watcher.removePaths(sorted(gone))
        if new := wanted - watching:
            self._watcher.addPaths(sorted(new))
