"""search_tools and call_tool: what a model may call, what it gets back, what is remembered."""

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.gateway import own, results, slim
from app.gateway.access import Access
from app.gateway.arguments import Checker, as_object
from app.gateway.guard import Guard, Rules
from app.gateway.protocol import Json, params_of, text_result
from app.gateway.pruned import refusal
from app.gateway.search import Finder, describe
from app.gateway.session import Limits, LoadedSet, Session, Sessions
from app.gateway.under_way import Call
from app.menu import is_short
from app.routing.text import query_hash
from app.settings import GatewaySettings
from store.serving import ToolRow

if TYPE_CHECKING:
    from app.encoder.onnx import Encoder
    from app.gateway.through import Through
    from app.paths import Paths

SESSION_KEY = "toolcrib/session"  # in _meta: a host that runs several conversations at once
_NOTES = 600  # characters of a server's instructions, given once a session
_ENCODER_SECONDS = 0.5  # that a search waits for an encoder that is being loaded
_LONGEST_QUERY = 500  # characters kept in the journal


class Caller:
    """Answers the two tools of the menu; made at their first use."""

    def __init__(self, front: "Through", paths: "Callable[[], Paths]") -> None:
        self._front = front
        self._links = front.links
        self.journal = front.links.journal
        self._shelf = front.shelf
        self._access = Access(self._shelf)
        self._finder = Finder(paths, self._shelf.profile_name, self._shelf.database)
        self._checker = Checker()
        self._noted: set[tuple[int, str]] = set()
        self.results = results.Results()
        self._sessions = Sessions(self._new_session)

    def warm(self) -> None:
        """Load the search in the background."""
        self._finder.warm()

    @property
    def encoder(self) -> "Encoder | None":
        """The encoder, once it is loaded."""
        return self._finder.encoder

    @property
    def gateway(self) -> GatewaySettings:
        """The profile's settings for the gateway, as they are now."""
        return self._access.profile.gateway

    def _new_session(self) -> Session:
        used = self.gateway
        limits = Limits(used.loaded_tools, used.loaded_tokens, used.idle_seconds)
        rules = Rules(
            used.loop_calls,
            used.loop_window_calls,
            used.loop_window_seconds,
            tuple(used.loop_exempt),
        )
        return Session(LoadedSet(limits), Guard(rules))

    def _session(self, params: Json) -> tuple[str, Session]:
        meta = params.get("_meta")
        key = str(meta.get(SESSION_KEY, "")) if isinstance(meta, dict) else ""
        session = self._sessions.get(key)
        if session.generation != self._shelf.generation:  # somebody may have signed in
            session.generation = self._shelf.generation
            session.refused.clear()
        return key, session

    def tick(self) -> None:
        """Forget conversations that ended long ago."""
        self._sessions.expire(24 * 3600.0)

    def milestone(self, message: Json, name: str) -> None:
        """A host or a model says that something is reached."""
        if name:
            _, session = self._session(params_of(message))
            session.milestones.add(name)

    # ---- search_tools

    def search(self, message: Json, params: Json) -> None:
        """Answer a search and load the best tool."""
        asked = as_object(params.get("arguments"))
        asked = asked if isinstance(asked, dict) else {}
        key, session = self._session(params)
        with session.lock:
            session.guard.clear()
        session.turn += 1
        query = str(asked.get("query") or asked.get("tool") or "")
        exact = self._exact(query, session)
        if exact is not None:
            self._front.reply(message, text_result(exact))
            return
        state = self._access.state(session)
        self._finder.wait(_ENCODER_SECONDS)
        found = self._finder.search(
            asked,
            state,
            generation=self._shelf.generation,
            tokens=self.gateway.search_tokens,
            level=self.gateway.slim,
            note="",
        )
        earlier = session.redundant(query, found.listed)
        text = found.text
        if earlier and earlier != query:
            text += f"\n(Much the same as for “{earlier[:80]}”.)"
        elif earlier:
            text += "\n(You have searched for this already.)"
        best = found.best
        evicted: list[str] = []
        if best is not None:
            text += self._notes(session, best.server.name, best.server.instructions)
            evicted = self._load(session, best.tool.tool_id, best.tool.id)
        self._front.reply(message, text_result(text))
        ranked = found.ranked
        tools = ranked.tools if ranked is not None else ()
        self.journal.add(
            "search",
            query=query[:_LONGEST_QUERY],
            ms=found.ms,
            tokens=len(text) // results.CHARACTERS_A_TOKEN,
            detail={
                "turn": session.turn,
                "conversation": key,
                "query_hash": query_hash(query),
                "candidates": [t.tool_id for t in tools[:10]],
                "scores": [round(t.score, 4) for t in tools[:10]],
                "gated_out_by_state": [t.tool_id for t in tools if t.gate == "precondition"][:10],
                "active": list(session.loaded.ids),
                "phase1": len(text) // results.CHARACTERS_A_TOKEN,
                "phase2": session.loaded.tokens,
                "words_only": bool(ranked and ranked.words_only),
            },
        )
        self._note_evicted(evicted)
        self.warm()  # only now: it would have slowed this answer down

    def _exact(self, query: str, session: Session) -> str | None:
        """A query that is a tool's name gets that tool's arguments."""
        name = query.strip()
        if "/" not in name or " " in name:
            return None
        found = self._access.find(name)
        if found is None or found.tool is None or self._access.reason(found, session):
            return None
        self._note_evicted(self._load(session, found.tool_id, found.tool.id))
        return describe(found.tool_id, json.loads(found.tool.raw), self.gateway.slim)

    def _notes(self, session: Session, server: str, instructions: str) -> str:
        """A server's own instructions, once a conversation, where initialize had no room."""
        mark = (id(session), server)
        if not instructions or mark in self._noted or is_short(instructions):
            return ""
        self._noted.add(mark)
        return f"\n{server} says: {' '.join(instructions.split())[:_NOTES]}"

    def _load(self, session: Session, tool_id: str, row_id: int) -> list[str]:
        new = tool_id not in session.loaded
        tokens = self._shelf.tokens(row_id) if new else 0
        with session.lock:
            evicted = session.loaded.load(tool_id, tokens, time.monotonic())
        if new:
            self.journal.add("load", tool=tool_id, tokens=tokens)
            self._promote()
        return evicted

    def _promote(self) -> None:
        if self.gateway.promote:
            self._front.list_changed()

    def promoted(self) -> dict[tuple[str, str], ToolRow]:
        """The loaded tools of the host's main conversation, for tools/list."""
        found: dict[tuple[str, str], ToolRow] = {}
        for tool_id in self._sessions.get("").loaded.ids:
            known = self._access.find(tool_id)
            if known is not None and known.tool is not None and not refusal(known.tool):
                found[known.row.name, known.tool.name] = known.tool
        return found

    def _note_evicted(self, evicted: list[str]) -> None:
        for tool_id in evicted:
            self.journal.add("evicted", tool=tool_id, problem="idle or over capacity")
        if evicted:
            self._promote()

    # ---- call_tool

    def call(self, message: Json, params: Json, asked: Json, *, always: bool = False) -> None:
        """Check a call and send it on; a tool that may not be called is explained.

        A valid call of a tool that was never loaded runs: refusing what is right would only cost
        a turn. An invalid one gets tool_not_available with the schema, and the retry can succeed.
        """
        name = str(asked.get("name") or asked.get("tool") or "")
        arguments = as_object(asked.get("arguments"))
        if name.startswith(own.PREFIX):
            self._own(message, params, name, arguments)
            return
        _, session = self._session(params)
        found = self._access.find(name)
        if found is None or (found.tool is None and found.row.read_at > 0):
            self._unavailable(message, session, name, reason="there is no such tool")
            return
        row, tool, own_name, tool_id, _ = found
        if tool is not None:  # one that was never read is for the server itself to judge
            reason = self._access.reason(found, session)
            if reason:
                self._unavailable(message, session, tool_id, reason=reason)
                return
            problems = self._checker.problems(tool.raw, arguments)
            if problems:
                known = always or tool_id in session.loaded
                self._invalid(message, session, (tool_id, tool), problems, known=known)
                return
        sent = {**params, "name": own_name, "arguments": arguments}
        gateway = self.gateway
        call = Call(
            self,
            session,
            self._front.upstream(row.name),
            {**message, "params": sent},
            tool_id,
            row_id=0 if always or tool is None else tool.id,
            tokens=_result_tokens(asked.get("detail"), gateway),
        )
        self._links.forwarder.send(call, gateway.call_seconds)
        call.note()

    def _unavailable(self, message: Json, session: Session, name: str, *, reason: str) -> None:
        near = self._finder.near(name, self._access.state(session), self._shelf.generation)
        body = {"error": "tool_not_available", "tool": name, "reason": reason}
        text = _dump({**body, "available": [t for t in near if t != name]})
        self._front.reply(message, text_result(text, is_error=True))
        self.journal.add("miss", tool=name, problem=reason, detail={"near": near})

    def _invalid(
        self,
        message: Json,
        session: Session,
        named: tuple[str, ToolRow],
        problems: list[str],
        *,
        known: bool,
    ) -> None:
        tool_id, tool = named
        self._note_evicted(self._load(session, tool_id, tool.id))
        schema = json.loads(tool.raw).get("inputSchema")
        level = self.gateway.slim
        if isinstance(schema, dict) and level != slim.NONE:
            schema = slim.slimmed(schema, level)
        body = {
            "error": "invalid_arguments" if known else "tool_not_available",
            "tool": tool_id,
            "reason": "; ".join(problems),
            "hint": "It is loaded now: call it again with arguments that fit this schema.",
            "inputSchema": schema,
        }
        self._front.reply(message, text_result(_dump(body), is_error=True))
        self.journal.add("miss", tool=tool_id, problem="; ".join(problems)[:300])

    # ---- what a call under way asks for

    def load_unasked(self, session: Session, tool_id: str, row_id: int) -> None:
        """Load a tool that was called without a search."""
        self.journal.add("miss", tool=tool_id, problem="called without a search")
        self._note_evicted(self._load(session, tool_id, row_id))

    def unload(self, session: Session, tool_id: str) -> None:
        """Take a tool away whose calls repeat."""
        if session.loaded.evict(tool_id):
            self.journal.add("evicted", tool=tool_id, problem="repeated calls")
            self._promote()

    def _own(self, message: Json, params: Json, name: str, arguments: object) -> None:
        """Toolcrib's own small tools, which the menu does not list."""
        given = arguments if isinstance(arguments, dict) else {}
        if name == own.READ_RESULT:
            self._front.reply(message, own.read_result(self.results, given))
        elif name == own.MILESTONE and given.get("name"):
            _, session = self._session(params)
            session.milestones.add(str(given["name"]))
            self._front.reply(message, text_result(f"Reached: {given['name']}."))
        else:
            text = f"Toolcrib's own tools are {own.READ_RESULT} and {own.MILESTONE} (name)."
            self._front.reply(message, text_result(text, is_error=True))


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _result_tokens(detail: object, gateway: GatewaySettings) -> int:
    """The budget of a result: short, the profile's, or none for full."""
    if detail == "short":
        return results.SHORT_TOKENS
    return 0 if detail == "full" else gateway.result_tokens
