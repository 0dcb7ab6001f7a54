"""The host's side of the gateway: one line out at a time, and requests that the host answers."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress

from app.mcp import jsonrpc, revisions
from app.mcp.protocol import (
    CANCELLED,
    CONNECTION_CLOSED,
    params_of,
    progress_token,
    progress_under,
    with_progress_token,
)
from store.typed import Any, Json

Answered = Callable[[bytes, Json], None]  # the answer's line (b"" when mended) and its message


class _Question:
    """A request that the host has not answered yet."""

    __slots__ = ("answered", "progressed", "token")

    def __init__(
        self, answered: Answered, token: str | int | None, progressed: Callable[[Json], None]
    ) -> None:
        self.answered = answered
        self.token = token  # progress token of who asks; ours is the id
        self.progressed = progressed


class Host:
    """Writes to the host, and remembers what the host was asked."""

    prefix = "toolcrib-"  # of the ids under which the host is asked

    def __init__(self, descriptor: int) -> None:
        self._out = descriptor
        self._writing = threading.Lock()
        self._questions: dict[str, _Question] = {}  # by the id under which the host is asked
        self._modern: dict[tuple[type, object], str] = {}
        self._count = 0
        self._counting = threading.Lock()
        self.gone = False
        self.modern = False  # it speaks the stateless revision

    def send(self, message: Json) -> None:
        """Write one message."""
        self.send_line(jsonrpc.dump(message))

    def send_line(self, line: bytes) -> None:
        """Write one line; blocks while the host does not read. A host that is gone is noted."""
        data = line + b"\n"
        with self._writing:
            try:
                written = os.write(self._out, data)
                left = memoryview(data)[written:] if written < len(data) else None
                while left:
                    left = left[os.write(self._out, left) :]
            except OSError:
                self.gone = True

    def begin(self, host_id: object) -> None:
        """A request of the host is about to be handled."""

    def expect_modern(self, host_id: object, method: str) -> None:
        """The answer to this request takes the form of the stateless revision."""
        self._modern[type(host_id), host_id] = method

    def forget(self, host_id: object) -> None:
        """No answer will be sent to this request."""
        self._modern.pop((type(host_id), host_id), None)

    def is_modern(self, host_id: object) -> bool:
        """True if the request under this id is of the stateless revision."""
        return (type(host_id), host_id) in self._modern

    def respond(self, host_id: Any, answer: Json, line: bytes = b"") -> None:
        """Answer a request of the host; `line` holds the same message where it may be spliced."""
        method = self._modern.pop((type(host_id), host_id), "") if self._modern else ""
        if method:
            whole = jsonrpc.dump({**revisions.completed(method, answer), "id": host_id})
        else:
            whole = jsonrpc.with_id(line, answer, host_id)
        self.send_answer(host_id, whole)

    def send_answer(self, host_id: object, line: bytes) -> None:  # noqa: ARG002 - adapted hosts do
        """Write the line that answers that request."""
        self.send_line(line)

    def request(
        self,
        line: bytes,
        message: Json,
        answered: Answered,
        progressed: Callable[[Json], None] = lambda _message: None,
    ) -> str:
        """Send a request under an id and a progress token of our own; the id, to withdraw it.

        `progressed` gets what the host reports meanwhile, under the token of the request.
        """
        token = progress_token(message)
        with self._counting:
            self._count += 1
            own_id = f"{self.prefix}{self._count}"
            gone = self.gone
            if not gone:
                self._questions[own_id] = _Question(answered, token, progressed)
        if gone:
            answered(b"", _unanswered(own_id))
            return own_id
        if token is not None:
            line, message = b"", with_progress_token(message, own_id)
        self.send_line(jsonrpc.with_id(line, message, own_id))
        return own_id

    def answer(self, line: bytes, message: Json) -> None:
        """Hand an answer of the host to who asked; an unknown one is dropped."""
        own_id = message.get("id")
        question = self._questions.pop(own_id, None) if isinstance(own_id, str) else None
        if question is not None:
            question.answered(line, message)

    def abandon(self) -> None:
        """Answer in place of a host that is gone, and ask it nothing more."""
        with self._counting:
            self.gone = True
            left = list(self._questions)
        for own_id in left:
            with suppress(Exception):  # the others wait too
                self.answer(b"", _unanswered(own_id))

    def progress(self, message: Json) -> None:
        """Hand on what the host reports on a request; what belongs to none is dropped."""
        question = self._questions.get(str(params_of(message).get("progressToken")))
        if question is not None and question.token is not None:
            question.progressed(progress_under(question.token, message))

    def withdraw(self, own_id: str, reason: str) -> None:
        """Tell the host that an answer is no longer needed."""
        if self._questions.pop(own_id, None) is not None:
            params = {"requestId": own_id, "reason": reason}
            self.send(jsonrpc.notification(CANCELLED, params))


def _unanswered(own_id: str) -> Json:
    return jsonrpc.error(own_id, CONNECTION_CLOSED, "The host is gone.")
