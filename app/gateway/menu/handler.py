"""search_tools and call_tool: what a model may call, what it gets back, what is remembered."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from app.catalog.menu_tools import is_short
from app.core.settings import GatewaySettings
from app.gateway import slim
from app.gateway.call import CallContext
from app.gateway.host_request import HostRequest
from app.gateway.journal import ROOM
from app.gateway.menu import own_tools, results
from app.gateway.menu.access import Access, NamedTool
from app.gateway.menu.arguments import Checker, as_fields, as_object
from app.gateway.menu.compact import describe
from app.gateway.menu.loop_guard import LoopGuard, Rules, guidance
from app.gateway.menu.menu_call import MenuCall, MenuEffects
from app.gateway.menu.session import Limits, LoadedSet, Session, Sessions
from app.gateway.profile_view import ProfileView
from app.mcp import jsonrpc
from app.mcp.protocol import params_of, text_result
from app.mcp.session import Upstream
from store.serving import ToolRow
from store.typed import Json, object_or_empty

if TYPE_CHECKING:
    from app.catalog.catalog import Catalog
    from app.encoder.onnx import Encoder
    from app.gateway.environment import GatewayEnvironment
    from app.gateway.menu.naming import Naming
    from app.gateway.menu.search import ToolSearch
    from app.gateway.menu.suggesting import HookRequest, Suggester
    from app.hooks.suggestion import Suggestion

SESSION_KEY = "toolcrib/session"  # in _meta: a host that runs several conversations at once
_NOTES = 600  # characters of a server's instructions, given once a session
_ENCODER_SECONDS = 0.5  # that a search waits for an encoder that is being loaded
_LONGEST_NAME = 300  # characters of a tool that is not there
_NO_QUERY = "search_tools needs a query: what is to be done, in words."


@dataclass(frozen=True, slots=True)
class MenuContext:
    """Parts of the gateway that the menu uses."""

    view: ProfileView
    calls: CallContext
    encoders: "GatewayEnvironment"
    upstream: Callable[[str], Upstream]  # by the server's name
    send: Callable[[HostRequest, float], None]  # a call, with its limit in seconds
    reply: Callable[[Json, Json], None]  # a result for a request of the host
    list_changed: Callable[[], None]


class MenuHandler:
    """Answers the two tools of the menu; made at their first use."""

    def __init__(self, context: MenuContext) -> None:
        self._context = context
        self._journal = context.calls.journal
        self._view = context.view
        self._access = Access(self._view, context.calls.live)
        self._checker = Checker()
        self._noted: set[tuple[int, str]] = set()
        self.results = results.Results()
        self._effects = MenuEffects(self.results, self._load_unasked, self._unload)
        self._sessions = Sessions(self._new_session)

    @cached_property
    def _finder(self) -> "ToolSearch":
        """The search; loaded with the first, since calls do without it."""
        from app.gateway.menu.search import ToolSearch

        view, encoders = self._view, self._context.encoders
        return ToolSearch(
            encoders, view.profile_name, view.database, lambda: view.servers, self._narrowed
        )

    @cached_property
    def _suggester(self) -> "Suggester":
        """Suggestions for hooks; loaded with the first prompt."""
        from app.gateway.menu.suggesting import Suggester

        return Suggester(self._finder, self._context.encoders)

    def _narrowed(self, catalog: "Catalog") -> "Catalog":
        """The catalogue as the project's policy leaves it."""
        policy = self._view.project
        if policy is None:
            return catalog
        return replace(catalog.without(policy.allows), settings=self._access.profile)

    def warm(self) -> None:
        """Load the search in the background."""
        self._finder.warm(self._view.generation)

    def prepare(self, seconds: float) -> None:
        """Have the search ready; waits for an encoder that long."""
        self._finder.warm(self._view.generation)
        self._finder.wait(seconds)

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
        return Session(LoadedSet(limits), LoopGuard(rules))

    def _session(self, params: Json) -> tuple[str, Session]:
        key = str(object_or_empty(params.get("_meta")).get(SESSION_KEY, ""))
        session = self._sessions.get(key)
        if session.generation != self._view.generation:  # a sign-in may have happened
            session.generation = self._view.generation
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

    # ---- before a prompt

    def suggest(self, given: "HookRequest", names: "Naming | None" = None) -> "Suggestion":
        """Suggestion of a hook for a prompt; the tools that it names count as searched for."""
        from app.gateway.menu.suggesting import SUGGEST, event

        self._view.refresh()
        session = self._sessions.get("")
        made, ms = self._suggester.suggest(
            given,
            state=self._access.state(session),
            generation=self._view.generation,
            names=names,
        )
        if made.text and names is None:
            with session.lock:
                session.guard.clear()
            for tool_id, row_id in zip(made.tools, made.row_ids, strict=True):
                self._note_evicted(self._load(session, tool_id, row_id))
        self._journal.add(SUGGEST, **event(made, given, ms, keep=self.gateway.keep_prompts))
        return made

    # ---- search_tools

    def search(self, message: Json, params: Json) -> None:
        """Answer a search and load the best tool."""
        from app.ranking.text import query_hash

        request = as_fields(params.get("arguments"))
        key, session = self._session(params)
        with session.lock:
            session.guard.clear()
        session.turn += 1
        query = str(request.get("query") or request.get("tool") or "")
        if not query.strip() and not request.get("server"):
            self._context.reply(message, text_result(_NO_QUERY, is_error=True))
            return
        exact = self._exact(query, session)
        if exact is not None:
            self._context.reply(message, text_result(exact))
            return
        state = self._access.state(session)
        self._finder.wait(_ENCODER_SECONDS)
        answer = self._finder.search(
            request,
            state,
            generation=self._view.generation,
            tokens=self.gateway.search_tokens,
            level=self.gateway.slim,
            note=" ".join(f"({problem})" for problem in self._access.problems),
        )
        text = answer.text + _repetition(query, session.redundant(query, answer.listed))
        best = answer.best
        evicted: list[str] = []
        if best is not None:
            text += self._notes(session, best.server.name, best.server.instructions)
            evicted = self._load(session, best.tool.tool_id, best.tool.id)
        self._context.reply(message, text_result(text))
        tokens = len(text) // results.CHARACTERS_A_TOKEN
        self._journal.add(
            "search",
            query=query[:ROOM],
            ms=answer.ms,
            tokens=tokens,
            detail={
                "turn": session.turn,
                "conversation": key,
                "query_hash": query_hash(query),
                **answer.decision(),
                "active": list(session.loaded.ids),
                "phase1": tokens,
                "phase2": session.loaded.tokens,
            },
        )
        self._note_evicted(evicted)
        self.warm()  # only now: it would have slowed this answer down

    def _exact(self, query: str, session: Session) -> str | None:
        """A query that is a tool's name gets its arguments, or why it is not available."""
        name = query.strip()
        if not name or " " in name:
            return None
        named = self._access.find(name)
        if named is None or named.tool is None:
            return None
        reason = self._access.reason(named, session) or self._access.changed(named)
        if reason:
            others = self._unavailable(session, named.tool_id, reason)["available"]
            text = f"{named.tool_id} is not available: {reason}."
            return f"{text} Other tools: {', '.join(others)}." if others else text
        if "/" not in name:
            return None  # a word that may mean more than the tool of that name
        self._note_evicted(self._load(session, named.tool_id, named.tool.id))
        return describe(named.tool_id, json.loads(named.tool.raw), self.gateway.slim)

    def _notes(self, session: Session, server: str, instructions: str) -> str:
        """A server's own instructions, once a conversation, where initialize had no room."""
        mark = (id(session), server)
        if not instructions or mark in self._noted or is_short(instructions):
            return ""
        self._noted.add(mark)
        return f"\n{server} says: {' '.join(instructions.split())[:_NOTES]}"

    def _load(
        self, session: Session, tool_id: str, row_id: int, *, journalled: bool = True
    ) -> list[str]:
        new = tool_id not in session.loaded
        tokens = self._view.tokens(row_id) if new else 0
        with session.lock:
            evicted = session.loaded.load(tool_id, tokens, time.monotonic())
        if new and journalled:
            self._journal.add("load", tool=tool_id, tokens=tokens)
        if new:
            self._promote()
        return evicted

    def _promote(self) -> None:
        if self.gateway.promote:
            self._context.list_changed()

    def promoted(self) -> dict[tuple[str, str], ToolRow]:
        """The loaded tools of the host's main conversation, for tools/list."""
        rows: dict[tuple[str, str], ToolRow] = {}
        for tool_id in self._sessions.get("").loaded.ids:
            named = self._access.find(tool_id)
            if named is not None and named.tool is not None and named.tool.shown:
                rows[named.row.name, named.tool.name] = named.tool
        return rows

    def _note_evicted(self, evicted: list[str]) -> None:
        for tool_id in evicted:
            self._journal.add("evicted", tool=tool_id, problem="idle or over capacity")
        if evicted:
            self._promote()

    # ---- call_tool

    def call(self, message: Json, params: Json, given: object, *, always: bool = False) -> None:
        """Check a call and send it on; a tool that may not be called is explained.

        A valid call of a tool that was never loaded runs: refusing what is right would only cost
        a turn. An invalid one gets the schema, and the retry can succeed.
        """
        request = as_fields(given)
        name = str(request.get("name") or request.get("tool") or "")
        arguments = as_object(request.get("arguments"))
        if name.startswith(own_tools.PREFIX):
            self._own(message, params, name, arguments)
            return
        _, session = self._session(params)
        named = self._access.find(name)
        if named is None or (named.tool is None and named.row.read_at > 0):
            body = self._unavailable(session, name, self._access.missing(name))
            self._refuse(message, session, (name, arguments), body)
            return
        row, tool, own_name, tool_id, _ = named
        held = self._access.asks(named, session)
        held = held if held and self._context.calls.may_ask(held) else ""
        if tool is not None and not held:  # else its server is read before it is sent
            arguments, refusal = self._checked(session, named, tool, arguments)
            if refusal is not None:
                self._refuse(message, session, (tool_id, arguments), refusal)
                return
        sent = {**params, "name": own_name, "arguments": arguments}
        gateway = self.gateway
        call = MenuCall(
            self._context.calls,
            self._effects,
            session,
            self._context.upstream(row.name),
            {**message, "params": sent},
            row_id=0 if always or tool is None or held else tool.id,
            tokens=results.budget(request.get("detail"), gateway.result_tokens),
            text="" if tool is None else tool.raw,
            held=held,
            check=partial(self._recheck, session, named, arguments, bool(held)),
        )
        self._context.send(call, gateway.call_seconds)
        call.note()

    def _checked(
        self, session: Session, named: NamedTool, tool: ToolRow, arguments: object
    ) -> tuple[object, Json | None]:
        """The arguments as they may be sent, and why they may not."""
        reason = self._access.reason(named, session)
        if reason:
            return arguments, self._unavailable(session, named.tool_id, reason)
        arguments, faults = self._checker.checked(tool.raw, arguments)
        if faults:
            return arguments, self._invalid(session, named.tool_id, tool, faults)
        return arguments, None

    def _recheck(
        self, session: Session, named: NamedTool, arguments: object, held: bool
    ) -> Json | None:
        """The refusal of a call whose tool is not the one that was trusted, by now.

        Of one that is `held`: not the one that a person is asked about.
        """
        refusal = None
        reason = self._access.other_text(named) if held else self._access.changed(named)
        if not reason and named.tool is None:
            now = self._access.find(named.tool_id)
            if now is None or now.tool is None:
                reason = "there is no such tool"
            else:
                _, refusal = self._checked(session, now, now.tool, arguments)
        if reason:
            refusal = self._unavailable(session, named.tool_id, reason)
        return None if refusal is None else jsonrpc.result(0, results.error_result(refusal))

    def _refuse(
        self, message: Json, session: Session, call: tuple[str, object], body: Json
    ) -> None:
        """Answer a call from here; one that is made again and again gets little to read."""
        tool_id, arguments = call
        with session.lock:
            repeats = session.guard.note(tool_id, arguments, time.monotonic(), refused=True)
        if repeats:
            self._unload(session, tool_id)
            kept = {key: body[key] for key in ("error", "tool", "reason")}
            body = {**kept, "hint": guidance(tool_id, repeats)}
        self._context.reply(message, results.error_result(body))

    def _unavailable(self, session: Session, name: str, reason: str) -> Json:
        state = self._access.state(session)
        candidates = self._finder.candidates(name, state, self._view.generation)
        self._journal.add("miss", tool=name, problem=reason, detail={"near": candidates})
        shown = name[:_LONGEST_NAME]
        body: Json = {"error": "tool_not_available", "tool": shown, "reason": reason}
        if self._access.problems:
            body["settings"] = list(self._access.problems)
        return {**body, "available": [t for t in candidates if t != name]}

    def _invalid(self, session: Session, tool_id: str, tool: ToolRow, problems: list[str]) -> Json:
        self._note_evicted(self._load(session, tool_id, tool.id))
        schema = json.loads(tool.raw).get("inputSchema")
        level = self.gateway.slim
        if isinstance(schema, dict) and level != slim.NONE:
            schema = slim.slimmed(schema, level)
        self._journal.add("miss", tool=tool_id, problem="; ".join(problems)[:ROOM])
        return {
            "error": "invalid_arguments",
            "tool": tool_id,
            "reason": "; ".join(problems),
            "hint": "It is loaded now: call it again with arguments that fit this schema.",
            "inputSchema": schema,
        }

    # ---- what a call under way asks for

    def _load_unasked(self, session: Session, tool_id: str, row_id: int) -> None:
        """Load a tool that was called without a search; its schema reaches the model only where
        loaded tools are listed."""
        shown = self.gateway.promote
        self._note_evicted(self._load(session, tool_id, row_id, journalled=shown))

    def _unload(self, session: Session, tool_id: str) -> None:
        """Take a tool away whose calls repeat."""
        if session.loaded.evict(tool_id):
            self._journal.add("evicted", tool=tool_id, problem="repeated calls")
            self._promote()

    def _own(self, message: Json, params: Json, name: str, arguments: object) -> None:
        """Toolcrib's own small tools, which the menu does not list."""
        fields = object_or_empty(arguments)
        if name == own_tools.READ_RESULT:
            self._context.reply(message, own_tools.read_result(self.results, fields))
        elif name == own_tools.MILESTONE and fields.get("name"):
            _, session = self._session(params)
            session.milestones.add(str(fields["name"]))
            self._context.reply(message, text_result(f"Reached: {fields['name']}."))
        else:
            names = f"{own_tools.READ_RESULT} and {own_tools.MILESTONE} (name)"
            text = f"Toolcrib's own tools are {names}."
            self._context.reply(message, text_result(text, is_error=True))


def _repetition(query: str, earlier: str) -> str:
    """Note on an earlier search that gave the same tools, "" without one."""
    if not earlier:
        return ""
    if earlier == query:
        return "\n(You have searched for this already.)"
    return f"\n(Much the same as for “{earlier[:80]}”.)"
