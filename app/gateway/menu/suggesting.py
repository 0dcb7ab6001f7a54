"""Suggestions for a host's prompts, by the same search that answers search_tools."""

import json
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.gateway.journal import ROOM
from app.gateway.menu.naming import Naming
from app.gateway.menu.search import ToolSearch
from app.hooks.suggestion import LOADING, LONGEST, Suggestion, silence_of, suggest
from app.system.threads import start_thread
from store.typed import Json

if TYPE_CHECKING:
    from app.catalog.conditions import State
    from app.gateway.environment import GatewayEnvironment
    from app.hooks.small_talk import SmallTalk

_ENCODER_SECONDS = 120.0  # that loading the encoder may take before words must do
_POOL = 10  # tools asked of the router
_CONVERSATIONS = 200  # whose last suggestion is remembered
SUGGEST = "suggest"  # the kind of event


@dataclass(frozen=True, slots=True)
class HookRequest:
    """A prompt, and who asks about it."""

    prompt: str
    host: str
    conversation: str
    seconds: float = 1.0  # that it may wait for an encoder that is being loaded
    listed: bool = False  # the host leaves out of its list what does not fit


class Suggester:
    """Decides for one profile; remembers ids of tools, never a prompt."""

    def __init__(self, finder: ToolSearch, encoders: "GatewayEnvironment") -> None:
        self._finder = finder
        self._encoders = encoders
        self._lock = threading.Lock()
        self._warmed = False  # asked for,
        self._ready = threading.Event()  # and over
        self._small_talk: SmallTalk | None = None
        self._last: OrderedDict[str, tuple[str, ...]] = OrderedDict()  # tool ids, by conversation

    def warm(self, generation: int) -> None:
        """Load what a suggestion needs, in the background; only once."""
        with self._lock:
            if self._warmed:
                return
            self._warmed = True
        start_thread(lambda: self._warm(generation))

    def _warm(self, generation: int) -> None:
        self._finder.warm(generation)
        self._finder.wait(_ENCODER_SECONDS)
        encoder = self._finder.encoder
        if encoder is not None:
            self._small_talk = self._encoders.load_small_talk(encoder)
        self._ready.set()

    def suggest(
        self,
        given: HookRequest,
        *,
        state: "State",
        generation: int,
        names: Naming | None = None,
    ) -> tuple[Suggestion, float]:
        """Suggestion for the prompt, and the milliseconds that deciding took."""
        began = time.perf_counter()
        silence = silence_of(given.prompt)
        if silence:
            return Suggestion(silence=silence), 0.0
        self.warm(generation)
        if not self._ready.wait(given.seconds):
            return Suggestion(silence=LOADING), 0.0
        small_talk = self._small_talk
        text = given.prompt.strip()[:LONGEST]
        ranked = self._finder.rank({"query": text}, state, generation, _POOL)
        made = suggest(
            ranked,
            small_talk=small_talk.likeness(text) if small_talk is not None else 0.0,
            tool=self._finder.tool,
            doubted=self._finder.is_doubted,
            names=names,
            before=() if given.listed else self._last.get(given.conversation, ()),
            listed=given.listed,
        )
        if made.text:
            self._remember(given.conversation, made.named)
        return made, (time.perf_counter() - began) * 1000

    def _remember(self, conversation: str, tools: tuple[str, ...]) -> None:
        with self._lock:
            self._last[conversation] = tools
            self._last.move_to_end(conversation)
            while len(self._last) > _CONVERSATIONS:
                self._last.popitem(last=False)


def event(made: Suggestion, given: HookRequest, ms: float, *, keep: bool) -> Json:
    """The fields of the event: ids and figures; of the prompt its beginning where the user keeps
    prompts and tools were ranked for it, else nothing."""
    return {
        "query": given.prompt.strip()[:ROOM] if keep and made.likeness else "",
        "ms": ms,
        "tokens": made.tokens,
        "detail": {
            "hook": given.host,
            "tools": list(made.tools),
            "off": made.off,
            "scores": list(made.scores),
            "likeness": made.likeness,
            "silence": made.silence,
        },
    }


def hook_output(text: str) -> str:
    """Answer of a hook that is a tool: the JSON that a hook's program would print."""
    output = {"hookEventName": "UserPromptSubmit", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output} if text else {})
