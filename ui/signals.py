"""Ctrl+C and a polite kill end the window as closing it does: no server is left running."""

import signal
import socket

from PySide6.QtCore import QCoreApplication, QObject, QSocketNotifier, QTimer


class QuitOnSignal(QObject):
    """Quits the application on SIGINT and SIGTERM.

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
        signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            # by a timer: a quit before the loop runs would be lost
            signal.signal(number, lambda _number, _frame: QTimer.singleShot(0, app.quit))

    def close(self) -> None:
        """Give the signals back."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        self._notifier.setEnabled(False)
        self._read.close()
        self._write.close()

    def _wake(self) -> None:
        self._read.recv(64)
