"""A connected host's model, asked through the backend (sampling)."""

import json
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.core.errors import ToolcribError
from app.gateway.backend.client import listens, request
from app.gateway.backend.overview import host_of
from app.gateway.backend.rendezvous import STATUS, Place

if TYPE_CHECKING:
    import _socket

SAMPLE = "sample"  # what the backend is asked: a prompt for one session's host
SECONDS = 120.0  # that a host has, its user's consent included
_STATUS_SECONDS = 2.0  # that the backend has to name its hosts: a dialog waits for it
_GRACE = 5.0  # seconds that the backend's own answer may take
_LOOK_SECONDS = 5.0  # between looks whether the backend is alive while its host thinks
_MOST_SILENT = 2  # looks without an answer; a machine that swaps may miss one


@dataclass(frozen=True, slots=True)
class HostModel:
    """A connected host's model, as app/ranking/rewrite.py asks one."""

    backend: Place
    session: int
    host: str
    seconds: float = SECONDS

    @property
    def place(self) -> str:
        """The host."""
        return f"{self.host}, whose own model answers; it may ask you first"

    def answer(self, text: str, cancelled: Callable[[], bool] = lambda: False) -> str:
        """The model's answer; ToolcribError where the host gives none."""
        # not for the backend, which imports this module's numbers
        from app.ranking.rewrite import LOOK, AnswerStoppedError

        fields = {"session": self.session, "text": text, "seconds": self.seconds}
        until = time.monotonic() + self.seconds + _GRACE
        alive = _Alive(self.backend)

        def has_answered(link: "_socket.socket") -> bool:
            while not select.select([link], [], [], LOOK)[0]:
                if cancelled():  # the backend sees the end of the link, and withdraws the prompt
                    raise AnswerStoppedError
                if time.monotonic() > until or not alive.looks_so():
                    return False
            return True

        answer = request(self.backend, SAMPLE, json.dumps(fields), has_answered=has_answered)
        if answer is None:
            hangs = listens(self.backend)
            answer = {"why": f"The backend {'does not answer' if hangs else 'has ended'}."}
        if "text" not in answer:
            raise ToolcribError(
                f"{self.host} wrote nothing. {answer.get('why', '')}".rstrip(),
                "What was written before stays. Try again, or choose another model.",
            )
        return str(answer["text"])


class _Alive:
    """Looks now and then whether a backend still answers."""

    def __init__(self, backend: Place) -> None:
        self._backend = backend
        self._next = time.monotonic() + _LOOK_SECONDS
        self._silent = 0

    def looks_so(self) -> bool:
        """False once it was silent several times on end; takes two seconds then."""
        if time.monotonic() >= self._next:
            answer = request(self._backend, STATUS, seconds=_STATUS_SECONDS)
            self._silent = self._silent + 1 if answer is None else 0
            self._next = time.monotonic() + _LOOK_SECONDS
        return self._silent < _MOST_SILENT


def find_host_model(backend: Place) -> HostModel | None:
    """The newest connected host that can be asked, None for none; ToolcribError where a backend
    runs that does not answer."""
    status = request(backend, STATUS, seconds=_STATUS_SECONDS)
    if status is None:
        if listens(backend):
            raise ToolcribError(
                "Toolcrib's backend does not answer, so no host's model can be asked.",
                "Try again in a few seconds, or choose another model.",
            )
        return None
    able = [session for session in status["sessions"] if session["sampling"]]
    return HostModel(backend, able[-1]["number"], host_of(able[-1])) if able else None


def host_model(backend: Place) -> HostModel:
    """The newest connected host that can be asked; ToolcribError where there is none."""
    model = find_host_model(backend)
    if model is None:
        raise ToolcribError(
            "No connected host lets its model be asked.",
            "VS Code and Copilot CLI may: connect one, or name --command or --url.",
        )
    return model
