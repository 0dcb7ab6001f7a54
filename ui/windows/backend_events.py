"""What the backend tells the window: that somebody changed the catalogue. Nothing is polled."""

import _socket
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QSocketNotifier, QTimer, Signal

from app.gateway.backend.client import watch
from app.gateway.backend.rendezvous import Place

SETTLE_MS = 200  # after the folder changed: a backend writes several files as it starts
_CHUNK = 1 << 12


class BackendEvents(QObject):
    """Connected whenever a backend runs; its folder says when one starts.

    Signals: changed() when the catalogue may be another one than was read last.
    """

    changed = Signal()

    def __init__(self, home: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self._link: _socket.socket | None = None
        self._notifier: QSocketNotifier | None = None
        self._folders = QFileSystemWatcher(self)
        self._settle = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._settle.timeout.connect(self.connect_backend)
        self._folders.directoryChanged.connect(lambda _folder: self._settle.start())
        self._settle.start()

    @property
    def is_connected(self) -> bool:
        """Whether a backend would tell of changes."""
        return self._link is not None

    def connect_backend(self) -> None:
        """Listen to the backend, if one runs and nobody listens yet."""
        place = Place(str(self._home))
        self._watch_folders(place)
        if self._link is not None:
            return
        self._link = watch(place)
        if self._link is not None:
            notifier = QSocketNotifier(self._link.fileno(), QSocketNotifier.Type.Read, self)
            notifier.activated.connect(self._read)
            self._notifier = notifier

    def close(self) -> None:
        """Listen no more."""
        self._settle.stop()
        if folders := self._folders.directories():
            self._folders.removePaths(folders)
        self._hang_up()

    def _watch_folders(self, place: Place) -> None:
        """The backend's own folder, which comes and goes with it, and what it is made in."""
        known = set(self._folders.directories())
        for folder in {place.folder, str(Path(place.folder).parent)} - known:
            if Path(folder).is_dir():
                self._folders.addPath(folder)

    def _read(self) -> None:
        if self._link is None:
            return
        try:
            data = self._link.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._hang_up()
            self._settle.start()  # another one may have taken its place
        elif b"changed" in data:
            self.changed.emit()

    def _hang_up(self) -> None:
        link, self._link = self._link, None
        notifier, self._notifier = self._notifier, None
        if notifier is not None:
            notifier.setEnabled(False)
            notifier.deleteLater()
        if link is not None:
            link.close()
