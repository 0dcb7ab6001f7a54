"""Ctrl+C and a polite kill end the window as closing it does: no server is left running."""

import socket

from PySide6.QtCore import QCoreApplication, QObject, QSocketNotifier, QTimer

from app.system.ending import end_as_usual, on_end


class QuitOnSignal(QObject):
    """Quits the application on the signals that end a process.

    Python only notices a signal when Python code runs; Qt's loop may not run any for hours. The
    byte that Python writes to a socket at each signal wakes the loop.
    """

    def __init__(self, app: QCoreApplication) -> None:
        super().__init__(app)
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._wake)
        # by a timer: a quit before the loop runs would be lost
        on_end(lambda _number, _frame: QTimer.singleShot(0, app.quit), wake=self._write.fileno())

    def close(self) -> None:
        """Give the signals back."""
        end_as_usual()
        self._notifier.setEnabled(False)
        self._read.close()
        self._write.close()

    def _wake(self) -> None:
        self._read.recv(64)
