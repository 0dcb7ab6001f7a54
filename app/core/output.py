"""Output of programs, whose reader may go before its end."""

import os
from typing import TextIO


def write_out(text: str, stream: TextIO) -> None:
    """Write a text at once; when its reader has gone, it and all that follows is dropped."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
