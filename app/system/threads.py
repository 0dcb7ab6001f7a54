"""Threads of the gateway, whose first act may be to import what its start did without."""

import threading
from collections.abc import Callable


def start_thread(target: Callable[..., object], *args: object) -> threading.Thread:
    """Run target(*args) on a thread that the process does not wait for at its end."""
    thread = threading.Thread(target=_run, args=(target, args), daemon=True)
    thread.start()
    return thread


def import_typing() -> None:
    """Wait until `typing` is imported whole.

    dataclasses takes it from sys.modules as far as it is: a class that is made while another thread
    imports it fails ("partially initialized module", CPython 3.11).
    """
    import typing  # noqa: F401


def _run(target: Callable[..., object], args: tuple[object, ...]) -> None:
    import_typing()
    target(*args)
