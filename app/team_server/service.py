"""Methods of the Model Context Protocol as the team's server answers them; holds no session."""

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from app.catalog.menu_tools import (
    CALL,
    SEARCH,
    always_loaded,
    instructions,
    menu_tools,
    server_list_text,
)
from app.core.errors import ToolcribError
from app.gateway.menu.arguments import Checker, as_object
from app.gateway.menu.compact import describe
from app.gateway.menu.results import budget, error_result
from app.gateway.serving.mode import VERSION
from app.gateway.serving.names import visible_names
from app.mcp import jsonrpc
from app.mcp.protocol import (
    HANDSHAKE,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MODERN,
    SERVER_INFO_KEY,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    negotiated,
    params_of,
    text_result,
)
from app.team_server import refusal, upstreams
from app.team_server.caller_view import CallerView, CallerViews, text_of, visible
from app.team_server.credentials import Credentials
from app.team_server.cutting import cut
from app.team_server.identity import Caller
from app.team_server.limiting import Limits
from app.team_server.metrics import Metrics
from app.team_server.tracing import Tracing
from app.team_server.upstreams import RefusedCredentialError
from store.errors import StoreError
from store.team import use
from store.team.connecting import Connection, as_member
from store.team.records import Tool
from store.typed import Json, object_or_empty

_MENU_MS = 60_000  # for which a list of tools is taken to be as it was
_LONGEST_NAME = 512
_INFO: Json = {"name": "toolcrib-team", "title": "Toolcrib team", "version": VERSION}
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Target:
    """Reach of an address: everything, a profile, or one server without a menu."""

    profile: str = ""
    server: str = ""

    def __str__(self) -> str:
        return f"server {self.server}" if self.server else self.profile


class Finder(Protocol):
    """Source of answers to search_tools."""

    def search(self, caller: Caller, view: CallerView, request: Json) -> str:
        """The text of a search's answer; called from a thread of its own."""


class Service:
    """Answers single requests; a replica has one."""

    def __init__(
        self,
        pool: ConnectionPool[Connection],
        finder: Finder,
        credentials: Credentials,
        held: upstreams.Upstreams,
        limits: Limits,
        metrics: Metrics,
        tracing: Tracing,
    ) -> None:
        self._pool = pool
        self._finder = finder
        self._credentials = credentials
        self._upstreams = held
        self._limits = limits
        self._metrics = metrics
        self._tracing = tracing
        self._views = CallerViews(pool)
        self._checker = Checker()

    async def answer(self, caller: Caller, target: Target, message: Json, *, modern: bool) -> Json:
        """The answer to a request. Raises RefusedError."""
        method, params = str(message["method"]), params_of(message)
        try:
            result = await self._result(caller, target, method, params, modern=modern)
        except psycopg.Error as error:
            raise refusal.away() from error
        except StoreError as error:
            raise refusal.no_right() from error
        if result is None:
            return jsonrpc.error(message["id"], METHOD_NOT_FOUND, "Method not found")
        if "error" in result:
            return {"jsonrpc": "2.0", "id": message["id"], "error": result["error"]}
        if modern:
            result = {"resultType": "complete", **result}
        return jsonrpc.result(message["id"], result)

    async def _result(
        self, caller: Caller, target: Target, method: str, params: Json, *, modern: bool
    ) -> Json | None:
        if modern and (problem := _version_problem(params)) is not None:
            return problem
        if method == "ping" and not modern:
            return {}
        view = await in_thread(self._views.view, caller, target.profile)
        if target.server:
            return await self._of_server(caller, view, target.server, method, params)
        if method == "tools/call":
            return await self._call(caller, view, params)
        if method == "tools/list":
            pinned = await in_thread(self._views.pinned, caller, view)
            fresh = {"ttlMs": _MENU_MS, "cacheScope": "private"} if modern else {}
            return {"tools": _listed(view, pinned), **fresh}
        if method == "initialize" and not modern:
            return {"protocolVersion": negotiated(params.get("protocolVersion")), **_about(view)}
        if method == "server/discover" and modern:
            return {"supportedVersions": [MODERN], **_about(view, modern=True)}
        return None

    # ---- one server

    async def _of_server(
        self, caller: Caller, view: CallerView, name: str, method: str, params: Json
    ) -> Json | None:
        """A server's own tools, as a gateway on a member's machine reaches them."""
        server = view.servers.get(name)
        if server is None:
            raise refusal.no_right()
        if method == "tools/list":
            tools = await in_thread(self._views.of_server, caller, view, server)
            return {"tools": [tool.raw for tool in tools]}
        if method == "tools/call":
            tool_id, given = f"{name}/{params.get('name', '')}", as_object(params.get("arguments"))
            return await self._run(caller, view, tool_id, given, "full")
        if method == "initialize":
            return {
                "protocolVersion": negotiated(params.get("protocolVersion")),
                "capabilities": {"tools": {}},
                "serverInfo": server.server_info or _INFO,
                "instructions": server.instructions,
            }
        if method == "server/discover":
            return {"supportedVersions": [MODERN], **_about(view, modern=True)}
        return None

    # ---- tools/call

    async def _call(self, caller: Caller, view: CallerView, params: Json) -> Json:
        name, given = str(params.get("name", "")), as_object(params.get("arguments"))
        if name == SEARCH:
            return await self._search(caller, view, object_or_empty(given))
        if name == CALL:
            fields = object_or_empty(given)
            tool_id = str(fields.get("name") or fields.get("tool") or "")
            arguments = as_object(fields.get("arguments"))
            return await self._run(caller, view, tool_id, arguments, fields.get("detail"))
        pinned = await in_thread(self._views.pinned, caller, view)
        tool = _named(pinned).get(name)
        if tool is None:
            text = "Unknown tool. Search with search_tools, then use call_tool."
            return {"error": {"code": INVALID_PARAMS, "message": text}}
        return await self._run(caller, view, tool.tool_id, given, None)

    async def _search(self, caller: Caller, view: CallerView, fields: Json) -> Json:
        query = str(fields.get("query") or fields.get("tool") or "").strip()
        if "/" in query and " " not in query and len(query) <= _LONGEST_NAME:
            tool = await in_thread(self._views.tool, caller, query)
            if tool is not None and not view.reason(tool):
                return text_result(describe(tool.tool_id, tool.raw, view.settings.gateway.slim))
        with self._tracing.part("search"):
            text = await in_thread(self._finder.search, caller, view, fields)
        await self._note(caller, "search", "")
        return text_result(text)

    async def _run(
        self, caller: Caller, view: CallerView, tool_id: str, arguments: object, detail: object
    ) -> Json:
        tool_id = tool_id[:_LONGEST_NAME]
        tool = await in_thread(self._views.tool, caller, tool_id)
        reason = "there is no such tool" if tool is None else view.reason(tool)
        if tool is None or (reason and not view.is_on(tool.tool_id)):
            # one text for what is off and what does not exist: it gives nothing away
            await self._note(caller, "miss", "")
            return error_result({"error": "there is no such tool", "tool": tool_id})
        if reason:
            await self._note(caller, "miss", tool.tool_id)
            return error_result({"error": f"not available: {reason}", "tool": tool_id})
        arguments, problems = self._checker.checked(text_of(tool), arguments)
        if problems:
            await self._note(caller, "miss", tool.tool_id)
            return error_result(
                {
                    "error": "the arguments do not fit",
                    "problems": problems,
                    "tool": tool_id,
                    "arguments": tool.raw.get("inputSchema"),
                }
            )
        tokens = budget(detail, view.settings.gateway.result_tokens)
        return await self._forward(caller, view, tool, arguments, tokens)

    async def _forward(
        self, caller: Caller, view: CallerView, tool: Tool, arguments: object, tokens: int
    ) -> Json:
        fields = object_or_empty(arguments)
        used = await in_thread(self._calls_today, caller)
        if used >= self._limits.calls_a_day:
            return error_result({"error": f"{self._limits.calls_a_day:,} calls a day are used up"})
        kind = "error"
        try:
            server = view.servers[tool.server]
            target = await in_thread(self._credentials.target, caller, server)
            try:
                message = await self._called(target, tool, fields)
            except RefusedCredentialError:  # before its end: the server did nothing yet
                after = self._credentials.after_refusal
                target = await in_thread(after, caller, server, target)
                message = await self._called(target, tool, fields)
            kind = "error" if _failed(message) else "call"
        except RefusedCredentialError:
            error = await in_thread(self._credentials.end, caller, server, target)
            return error_result({"error": error.text})
        except ToolcribError as error:
            return error_result({"error": error.text})
        finally:
            self._metrics.count("calls", outcome=kind)
            await self._note(caller, kind, tool.tool_id)
        if "error" in message:
            return {"error": message["error"]}
        result = message.get("result")
        return cut(result, tokens) if isinstance(result, dict) else {}

    async def _called(self, target: upstreams.Target, tool: Tool, fields: Json) -> Json:
        """A tool's answer as a message. Raises ToolcribError."""
        held = self._upstreams.get(target)
        if not await upstreams.is_trusted(held, tool.name, tool.raw):
            text = "its server offers another text than the one that was reviewed"
            return {
                "result": error_result({"error": f"not available: {text}", "tool": tool.tool_id})
            }
        with self._tracing.part("tools/call", tool.tool_id):
            return await upstreams.call(held, tool.name, fields)

    def _calls_today(self, caller: Caller) -> int:
        today = datetime.datetime.now(datetime.UTC).date()
        with as_member(self._pool, caller.member) as connection:
            rows = use.since(connection, caller.member.organisation_id, today)
        own = [row for row in rows if row.member_id == caller.member.member_id]
        return sum(row.count for row in own if row.kind in ("call", "error"))

    async def _note(self, caller: Caller, kind: str, tool_id: str) -> None:
        """Count a use; where the database is away the answer goes out all the same."""
        today = datetime.datetime.now(datetime.UTC).date()

        def count() -> None:
            with as_member(self._pool, caller.member) as connection:
                use.count(connection, caller.member, [(today, kind, tool_id, 1)])

        try:
            await in_thread(count)
        except (psycopg.Error, StoreError):
            self._metrics.count("calls", outcome="uncounted")


async def in_thread(work: Callable[..., Value], *arguments: object) -> Value:
    """Do what waits for the database, or computes, on another thread."""
    return await asyncio.get_running_loop().run_in_executor(None, partial(work, *arguments))


def _about(view: CallerView, *, modern: bool = False) -> Json:
    servers = [(row.name, row.instructions) for row in view.servers.values()]
    about: Json = {
        "capabilities": {"tools": {}},
        "instructions": instructions(servers, [], "servers"),
    }
    if modern:
        fresh = {"ttlMs": _MENU_MS, "cacheScope": "private"}
        return {**about, **fresh, "_meta": {SERVER_INFO_KEY: _INFO}}
    return {**about, "serverInfo": _INFO}


def _named(pinned: list[Tool]) -> dict[str, Tool]:
    by_pair = {(tool.server, tool.name): tool for tool in pinned}
    names = visible_names(by_pair, taken=(SEARCH, CALL))
    return {name: by_pair[pair] for name, pair in names.items()}


def _listed(view: CallerView, pinned: list[Tool]) -> list[Json]:
    menu = menu_tools(server_list_text(list(view.servers), view.settings.gateway.pool))
    return menu + [always_loaded(visible(tool, name)) for name, tool in _named(pinned).items()]


def _version_problem(params: Json) -> Json | None:
    version = object_or_empty(params.get("_meta")).get(VERSION_KEY)
    if version == MODERN:
        return None
    data = {"supported": [MODERN, *reversed(HANDSHAKE)], "requested": version}
    text = f"Protocol versions here: {MODERN}, and {HANDSHAKE[-1]} by initialize."
    return {"error": {"code": UNSUPPORTED_VERSION, "message": text, "data": data}}


def _failed(message: Json) -> bool:
    result = message.get("result")
    return "error" in message or not isinstance(result, dict) or bool(result.get("isError"))
