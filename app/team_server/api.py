"""Requests below /v1/ and /v0.1/: who one is, what changed, what one sends, what editors change."""

import datetime
import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs, unquote

import psycopg
from psycopg_pool import ConnectionPool

from app.catalog.setting_checks import check_sent
from app.core.errors import ToolcribError
from app.gateway.backend.web.reading import LARGEST_BODY
from app.mcp.limits import TooLargeError, check_shape
from app.policy.policy_file import parse_policy
from app.ranking.text import query_hash
from app.secrets.secret_store import Secrets
from app.team_server import refusal
from app.team_server.application import Request, read_body
from app.team_server.credentials import Credentials
from app.team_server.identity import Caller
from app.team_server.listed_servers import ListedServers
from app.team_server.refusal import RefusedError
from app.team_server.routes import fitting
from app.team_server.sent_items import sent_items
from app.team_server.service import in_thread
from app.team_server.sign_ins import SignIns
from store.errors import StoreError
from store.team import (
    changes,
    labels,
    members,
    organisations,
    policies,
    profiles,
    reviews,
    servers,
    tokens,
    tools,
    use,
)
from store.team.connecting import Connection, as_member, as_owner
from store.team.profiles import ChangedMeanwhileError
from store.team.records import ADMIN, BY_MEMBER, EDITOR, MEMBER, TEAM_POLICY, Server, TickRow
from store.typed import Json, list_or_empty, object_or_empty

_MOST = 1_000  # changes of one answer
_DEFAULT = 500
_MOST_SENT = 500  # labels or counts of one request
_LONGEST_QUERY = 500
_LONGEST_POLICY = 100_000
_LONGEST_REASON = 500
_MOST_TICKS = 20_000
_KINDS = frozenset({"search", "call", "error", "miss"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TOOL = re.compile(r"[^\x00-\x1f\x7f]{1,200}/[^\x00-\x1f\x7f]{1,300}")
_DAYS_BACK = 31
_MOST_NAMED = 50  # tools of one label
_MOST_HEADERS = 8
_TOKEN_DAYS = 30  # until a member signs in again
Answer = Callable[[Request, bytes], Json]


class TeamApi:
    """Answers requests below /v1/; everything is read and written as the caller."""

    def __init__(
        self,
        pool: ConnectionPool[Connection],
        credentials: Credentials,
        sign_ins: SignIns,
        listed: ListedServers,
        read: Callable[[Caller, Server], int],
    ) -> None:
        """`read` reads a server's tools with the caller's own sign-in; their number."""
        self._pool = pool
        self._credentials = credentials
        self._sign_ins = sign_ins
        self._listed = listed
        self._read = read
        self.routes: Mapping[tuple[str, str], Answer] = {
            ("GET", "/v1/me"): self._me,
            ("GET", "/v1/changes"): self._changes,
            ("GET", "/v0.1/servers"): self._market,
            ("POST", "/v1/labels"): self._labels,
            ("POST", "/v1/use"): self._use,
            ("POST", "/v1/tokens"): self._issue_token,
            ("DELETE", "/v1/tokens"): self._end_token,
            ("GET", "/v1/profiles/{name}"): self._concerned,
            ("PUT", "/v1/profiles/{name}"): self._save_profile,
            ("DELETE", "/v1/profiles/{name}"): self._delete_profile,
            ("PUT", "/v1/policies/{name}"): self._save_policy,
            ("POST", "/v1/reviews"): self._review,
            ("PUT", "/v1/credentials/{name}"): self._save_credential,
            ("GET", "/v1/sign-ins"): self._sign_in_states,
            ("POST", "/v1/sign-ins/{name}"): self._begin_sign_in,
            ("PUT", "/v1/sign-ins/{name}"): self._finish_sign_in,
            ("DELETE", "/v1/sign-ins/{name}"): self._end_sign_in,
        }

    async def __call__(self, request: Request) -> None:
        """One request. Raises RefusedError."""
        answer = self._handler(request.method, request.path)
        body = await read_body(request) if request.method in ("POST", "PUT") else b""
        try:
            value = await in_thread(answer, request, body)
        except ChangedMeanwhileError as error:
            raise RefusedError(409, error.text) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise refusal.no_right() from error
        except psycopg.OperationalError as error:
            raise refusal.away() from error
        except psycopg.Error as error:
            raise RefusedError(400, "The team server does not take this.") from error
        except StoreError as error:
            raise refusal.no_right() from error
        except ToolcribError as error:
            raise RefusedError(400, error.text) from error
        await request.reply.whole(200, json.dumps(value, ensure_ascii=False).encode())

    def _handler(self, method: str, path: str) -> Answer:
        fits = fitting(path, [template for one, template in self.routes if one == method])
        if fits is None:
            raise refusal.no_right()
        return self.routes[method, fits[0]]

    # ---- what everybody may ask

    def _me(self, request: Request, _body: bytes) -> Json:
        member = request.caller.member
        with as_member(self._pool, member) as connection:
            organisation = organisations.get(connection, member.organisation_id)
            seen = [row.name for row in profiles.every(connection, member.organisation_id)]
            last = changes.last(connection, member.organisation_id)
        return {
            "organisation": organisation.name if organisation is not None else "",
            "member": member.name,
            "role": member.role,
            "profiles": seen,
            "cursor": last,
            "lists": self._listed.allowed,
        }

    def _changes(self, request: Request, _body: bytes) -> Json:
        query = parse_qs(request.query, keep_blank_values=True, max_num_fields=8)
        cursor = _number(query.get("cursor", ["0"]), 2**62)
        limit = min(_MOST, max(1, _number(query.get("limit", [str(_DEFAULT)]), 10**6)))
        organisation = request.caller.member.organisation_id
        with as_member(self._pool, request.caller.member) as connection:
            rows = changes.since(connection, organisation, cursor, most=limit)
            items = sent_items(connection, organisation, rows)
        last = rows[-1].cursor if rows else cursor
        return {"items": items, "cursor": last, "more": len(rows) == limit}

    def _market(self, request: Request, _body: bytes) -> Json:
        """A page of what could be installed, by the registry protocol: a source for members."""
        query = parse_qs(request.query, keep_blank_values=True, max_num_fields=8)
        return self._listed.page(_number(query.get("cursor", ["0"]), 2**62))

    # ---- what members send

    def _labels(self, request: Request, body: bytes) -> Json:
        rows = _objects(_object(body), "labels")
        member = request.caller.member
        with as_member(self._pool, member) as connection:
            for row in rows:
                query, expected = row.get("query"), row.get("tools")
                if not isinstance(query, str) or not 0 < len(query) <= _LONGEST_QUERY:
                    raise RefusedError(400, "A label has a query of 1 to 500 characters.")
                named = _tool_ids(expected)
                labels.add(connection, member, query, named, words=query_hash(query))
        return {"taken": len(rows)}

    def _use(self, request: Request, body: bytes) -> Json:
        rows = [_count(row) for row in _objects(_object(body), "counts")]
        with as_member(self._pool, request.caller.member) as connection:
            use.count(connection, request.caller.member, rows)
        return {"taken": len(rows)}

    def _issue_token(self, request: Request, _body: bytes) -> Json:
        """A token for the machine of a member who signed in at the issuer, and by no token."""
        if request.caller.token_id:
            raise refusal.no_right()
        until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(_TOKEN_DAYS)
        with as_owner(self._pool) as connection:
            _id, value = tokens.issue(
                connection, request.caller.member, "browser sign-in", expires=until
            )
        return {"token": value, "expires": until.isoformat()}

    def _end_token(self, request: Request, _body: bytes) -> Json:
        """End the token that the request shows: its machine leaves the team."""
        if not request.caller.token_id:
            raise refusal.no_right()
        with as_member(self._pool, request.caller.member) as connection:
            return {"ended": tokens.revoke(connection, request.caller.token_id)}

    def _save_credential(self, request: Request, body: bytes) -> Json:
        headers = _headers(_object(body).get("headers"))
        server = self._own_server(request)
        self._credentials.save(request.caller, server, Secrets(headers=headers))
        return {"saved": server.name}

    def _sign_in_states(self, request: Request, _body: bytes) -> Json:
        """The servers where each member signs in, with the state of the caller's credential."""
        caller = request.caller
        with as_member(self._pool, caller.member) as connection:
            rows = servers.every(connection, caller.member.organisation_id)
        own = [row for row in rows if row.sign_in == BY_MEMBER and row.enabled]
        return {"servers": self._credentials.states(caller, own)}

    def _begin_sign_in(self, request: Request, body: bytes) -> Json:
        given, server = _object(body), self._own_server(request)
        page = self._sign_ins.begin(request.caller, server, given.get("back"), given.get("state"))
        return {"page": page}

    def _finish_sign_in(self, request: Request, body: bytes) -> Json:
        server, member = self._own_server(request), request.caller.member
        self._sign_ins.finish(request.caller, server, _object(body).get("ticket"))
        reads = member.role in (EDITOR, ADMIN)
        return {"saved": server.name, "tools": self._read(request.caller, server) if reads else -1}

    def _end_sign_in(self, request: Request, _body: bytes) -> Json:
        server = self._own_server(request)
        return {"name": server.name, "deleted": self._sign_ins.end(request.caller, server)}

    def _own_server(self, request: Request) -> Server:
        """The server of this path, where each member has a credential. Raises RefusedError."""
        _need(request.caller, (ADMIN, EDITOR, MEMBER))
        name, member = request.path.rpartition("/")[2], request.caller.member
        with as_member(self._pool, member) as connection:
            server = servers.named(connection, member.organisation_id, unquote(name))
        if server is None or server.sign_in != BY_MEMBER:
            raise refusal.no_right()
        return server

    # ---- what editors change

    def _concerned(self, request: Request, _body: bytes) -> Json:
        """Members who get a profile: whom a change of it concerns."""
        _need(request.caller, (EDITOR, ADMIN))
        organisation = request.caller.member.organisation_id
        with as_member(self._pool, request.caller.member) as connection:
            row = profiles.named(connection, organisation, _name(request.path))
            if row is None:
                raise refusal.no_right()
            rows = members.seeing(connection, organisation, row.grants)
        return {
            "name": row.name,
            "version": row.version,
            "members": [{"name": name, "role": role} for name, role in rows],
        }

    def _save_profile(self, request: Request, body: bytes) -> Json:
        _need(request.caller, (EDITOR, ADMIN))
        name, given = _name(request.path), _object(body)
        settings, version = given.get("settings", {}), given.get("version", 0)
        rows = _objects({"ticks": [], **given}, "ticks", _MOST_TICKS)
        if not isinstance(settings, dict) or type(version) is not int:
            raise RefusedError(400, "A profile has settings, ticks and a version.")
        check_sent(settings)
        ticks = [_tick(row) for row in rows]
        if len({tick.tool_id for tick in ticks}) < len(ticks):
            raise RefusedError(400, "A tool has one tick.")
        organisation = request.caller.member.organisation_id
        with as_member(self._pool, request.caller.member) as connection:
            before = profiles.named(connection, organisation, name)
            grants = before.grants if before is not None else ("organisation",)
            profiles.save(
                connection, organisation, name, settings, ticks, grants=grants, version=version
            )
            saved = profiles.named(connection, organisation, name)
        return {"name": name, "version": saved.version if saved is not None else 0}

    def _delete_profile(self, request: Request, _body: bytes) -> Json:
        _need(request.caller, (EDITOR, ADMIN))
        organisation = request.caller.member.organisation_id
        with as_member(self._pool, request.caller.member) as connection:
            row = profiles.named(connection, organisation, _name(request.path))
            if row is None or not profiles.delete(connection, organisation, row.id):
                raise refusal.no_right()
        return {"deleted": row.name}

    def _save_policy(self, request: Request, body: bytes) -> Json:
        _need(request.caller, (ADMIN,))
        name, text = _name(request.path), _object(body).get("text")
        if not isinstance(text, str) or len(text) > _LONGEST_POLICY:
            raise RefusedError(400, "A policy is a text of at most 100,000 characters.")
        parse_policy(text.encode(), f"policy {name}")
        with as_member(self._pool, request.caller.member) as connection:
            policies.save(connection, request.caller.member.organisation_id, name, text)
        return {"name": name, "everywhere": name == TEAM_POLICY}

    def _review(self, request: Request, body: bytes) -> Json:
        """Approve or keep tools with the texts that the editor has read."""
        _need(request.caller, (EDITOR, ADMIN))
        given = _object(body)
        decision, reason = given.get("decision"), given.get("reason", "")
        is_reason = isinstance(reason, str) and len(reason) <= _LONGEST_REASON
        if decision not in reviews.DECISIONS or not is_reason:
            raise RefusedError(400, "A review has a decision, approved or kept, and a reason.")
        rows = _objects(given, "tools", _MOST_NAMED)
        named = _tool_ids([row.get("tool") for row in rows])
        member = request.caller.member
        with as_member(self._pool, member) as connection:
            for name, row in zip(named, rows, strict=True):
                tool = tools.named(connection, member.organisation_id, name)
                if tool is None:
                    raise refusal.no_right()
                if row.get("hash") != tool.hash:
                    raise ChangedMeanwhileError(
                        f"{name} has another text by now.",
                        "Synchronise, read it again.",
                    )
                reviews.decide(
                    connection,
                    member.organisation_id,
                    tool.id,
                    str(decision),
                    hash_=tool.hash,
                    member_id=member.member_id,
                    reason=str(reason),
                )
        return {"decision": decision, "tools": named}


def _need(caller: Caller, roles: tuple[str, ...]) -> None:
    if caller.member.role not in roles or caller.member.allow is not None:
        raise refusal.no_right()


def _name(path: str) -> str:
    name = path.rpartition("/")[2]
    if not _NAME.fullmatch(name):
        raise RefusedError(400, "A name has letters, digits, dots, dashes: 1 to 100 of them.")
    return name


def _number(values: list[str], most: int) -> int:
    text = values[0] if len(values) == 1 else ""
    if not (text.isascii() and text.isdigit()) or len(text) > 19 or int(text) > most:
        raise RefusedError(400, "cursor and limit are numbers.")
    return int(text)


def _object(body: bytes) -> Json:
    """The JSON object of a body. Raises RefusedError."""
    if len(body) > LARGEST_BODY:
        raise RefusedError(413, "The body is too large.")
    try:
        check_shape(body)
        value = json.loads(body)
    except (TooLargeError, ValueError, RecursionError) as error:
        raise RefusedError(400, "The body is no JSON object.") from error
    if not isinstance(value, dict):
        raise RefusedError(400, "The body is no JSON object.")
    return value


def _objects(given: Json, key: str, most: int = _MOST_SENT) -> list[Json]:
    rows = given.get(key)
    if isinstance(rows, list) and len(rows) <= most and all(isinstance(row, dict) for row in rows):
        return rows
    raise RefusedError(400, f"{key} is a list of at most {most} objects.")


def _tool_ids(value: object) -> list[str]:
    listed = list_or_empty(value)
    named = [one for one in listed if isinstance(one, str) and _TOOL.fullmatch(one)]
    if not 0 < len(named) <= _MOST_NAMED or len(named) != len(listed):
        raise RefusedError(400, "Tools are named server/tool.")
    return named


def _tick(row: Json) -> TickRow:
    on, pinned = row.get("on", True), row.get("pinned", False)
    if type(on) is not bool or type(pinned) is not bool:
        raise RefusedError(400, "A tick is on or off, pinned or not: true or false.")
    return TickRow(_tool_ids([row.get("tool")])[0], on, pinned)


def _count(row: Json) -> tuple[datetime.date, str, str, int]:
    today = datetime.datetime.now(datetime.UTC).date()
    tool, kind, number = row.get("tool", ""), row.get("kind"), row.get("count")
    try:
        day = datetime.date.fromisoformat(str(row.get("day")))
    except ValueError as error:
        raise RefusedError(400, "A day is written 2026-11-26.") from error
    if not today - datetime.timedelta(_DAYS_BACK) <= day <= today + datetime.timedelta(1):
        raise RefusedError(400, "Counts are of the last 31 days.")
    if kind not in _KINDS or type(number) is not int or not 0 < number <= 1_000_000:
        raise RefusedError(400, "A count has a kind and a number above 0.")
    if tool != "":
        _tool_ids([tool])
    return day, str(kind), str(tool), number


def _headers(value: object) -> dict[str, str]:
    """Headers of a credential. Raises RefusedError."""
    given = object_or_empty(value)
    if not 0 < len(given) <= _MOST_HEADERS or not all(_is_header(*one) for one in given.items()):
        raise RefusedError(400, "A credential is an object of headers.")
    return {str(name): str(text) for name, text in given.items()}


def _is_header(name: object, value: object) -> bool:
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    plain = value.isascii() and value.isprintable() and 0 < len(value) <= 8_192
    return plain and re.fullmatch(r"[A-Za-z0-9-]{1,100}", name) is not None
