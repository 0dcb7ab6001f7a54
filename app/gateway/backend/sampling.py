"""Prompts that a connected host's own model answers (sampling), for the user's programs.

The feature is deprecated since 2026-07-28, whose hosts take no requests: only hosts of older
revisions on a pipe are asked, one prompt at a time, and never without a program of the user.
"""

import _socket
import json
import select
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.core.text import visible
from app.gateway.backend.hello import Hello
from app.gateway.backend.host_model import SECONDS
from app.gateway.backend.session import Session
from app.mcp import jsonrpc
from store.typed import Json

if TYPE_CHECKING:
    from app.gateway.backend.web.session import WebSession

_LOOK = 0.25  # seconds between looks at both ends
_MOST_TOKENS = 2_000
_LONGEST_ANSWER = 100_000  # characters
_LONGEST_MESSAGE = 200  # characters of a refusal


class Sampling:
    """Asks hosts, one at a time."""

    def __init__(self) -> None:
        self._asking = threading.Lock()

    def answer(
        self, hello: Hello, link: "_socket.socket", sessions: "Sequence[Session | WebSession]"
    ) -> Json:
        """`text` of the host's model; or `why` there is none."""
        try:
            fields = json.loads(hello.words[1])
            number, text = int(fields["session"]), str(fields["text"])
            seconds = min(SECONDS, float(fields["seconds"]))
        except (LookupError, ValueError, TypeError):
            return {"why": "That is no prompt."}
        able = [one for one in sessions if isinstance(one, Session) and can_sample(one)]
        session = next((one for one in able if one.number == number), None)
        if session is None:
            return {"why": "It is not connected any more."}
        if not self._asking.acquire(blocking=False):
            return {"why": "Another program is asking it or another host."}
        try:
            return _sampled(session, text, link, seconds)
        finally:
            self._asking.release()


def can_sample(session: "Session | WebSession") -> bool:
    """True if the session's host can be asked; over HTTP a request needs a call that it is for."""
    return isinstance(session, Session) and session.gateway.can_sample


def _sampled(session: Session, text: str, link: "_socket.socket", seconds: float) -> Json:
    answers: list[Json] = []
    came = threading.Event()

    def answered(_line: bytes, message: Json) -> None:
        answers.append(message)
        came.set()

    own_id = session.host.request(b"", _request(text), answered)
    limit = time.monotonic() + seconds
    why = ""
    while not came.wait(_LOOK) and not why:
        if time.monotonic() > limit:
            why = f"There was no answer within {seconds:.0f} seconds."
        elif select.select([link], [], [], 0)[0]:  # a program sends nothing more but its end
            why = "The program that asked is gone."
    if not answers:
        session.host.withdraw(own_id, why)
        return {"why": why}
    if session.ended and "error" in answers[0]:
        return {"why": "It left before it answered."}
    return _read(answers[0])


def _request(text: str) -> Json:
    params = {
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        "maxTokens": _MOST_TOKENS,
        "modelPreferences": {"costPriority": 0.8},
    }
    return jsonrpc.request("sampling/createMessage", params)


def _read(answer: Json) -> Json:
    """The text of an answer, which may have any form: nothing in it is trusted."""
    if "error" in answer:
        error = answer["error"]
        message = error.get("message") if isinstance(error, dict) else ""
        return {"why": f"It refused: {visible(str(message))[:_LONGEST_MESSAGE]}"}
    result = answer.get("result")
    content = result.get("content") if isinstance(result, dict) else None
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    whole = "".join(text for text in texts if isinstance(text, str))
    return {"text": whole if len(whole) <= _LONGEST_ANSWER else ""}
