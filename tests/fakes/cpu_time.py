"""CPU time of a part of a test."""

import gc
import time


class CpuTime:
    """Seconds of CPU that a `with` block takes in this process, garbage collection left out.

    A full collection walks every object of the tests that ran before in the same worker: it made
    an edit in proportion to its text seem to cost the square.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = 0.0

    def __enter__(self) -> "CpuTime":
        gc.disable()
        self._start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._start
        gc.enable()
