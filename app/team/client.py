"""The team server's interface below /v1/, as a member's machine asks for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeGuard
from urllib.parse import quote, urlsplit

import httpx2

from app.core.errors import ToolcribError
from app.mcp.limits import TooLargeError, check_shape
from store.typed import Json, list_or_empty, object_or_empty

_SECONDS = 20.0
_LARGEST = 64 << 20  # bytes of an answer
_METADATA = "/.well-known/oauth-protected-resource/mcp"  # RFC 9728
_PAGE = 500  # changes of one answer


class OfflineError(ToolcribError):
    """The team server cannot be reached now."""


class RefusedError(ToolcribError):
    """The team server does not take the token, or not for this."""


class EndedTokenError(RefusedError):
    """The team server does not take the token for anything: it was ended, or never counted."""


class ChangedMeanwhileError(ToolcribError):
    """Another member changed the row after it was read."""


@dataclass(frozen=True, slots=True)
class Membership:
    """Name, organisation and role of a token's member."""

    organisation: str
    member: str
    role: str
    lists: bool = False  # the team server lists servers that could be installed


@dataclass(frozen=True, slots=True)
class Page:
    """Changes after a cursor."""

    items: Sequence[Json]
    cursor: int
    more: bool


def plain_url(text: str) -> str:
    """A team server's URL without what a user may have copied with it. Raises ToolcribError."""
    text = text.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        host, _port = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    local = host in ("127.0.0.1", "localhost", "::1")
    if not host or parts.username is not None or parts.query or parts.fragment:
        raise ToolcribError(f"{text[:200]} is no URL.", "It looks like https://tools.example.org")
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise ToolcribError("The token would be sent unencrypted.", "Use a URL with https://")
    path = parts.path.removesuffix("/mcp").rstrip("/")
    if path:
        raise ToolcribError(f"{text[:200]} has a path.", "Give the URL up to the host's name.")
    return f"{parts.scheme}://{parts.netloc}"


class TeamClient:
    """A connection to one team server with one token."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self._http = httpx2.Client(
            timeout=_SECONDS,
            follow_redirects=False,  # a token is for one host
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def issuers(self) -> list[str]:
        """The issuers that the team server trusts; needs no token. Raises ToolcribError."""
        known = self._exchange("GET", _METADATA).get("authorization_servers")
        return [str(one) for one in list_or_empty(known)]

    def me(self) -> Membership:
        """The token's member. Raises ToolcribError."""
        answer = self._exchange("GET", "/v1/me")
        values = [answer.get(key) for key in ("organisation", "member", "role")]
        if not all(isinstance(value, str) and value for value in values):
            raise ToolcribError(f"{self.url} is no team server.", "Check the URL.")
        organisation, member, role = map(str, values)
        return Membership(organisation, member, role, answer.get("lists") is True)

    def sign_ins(self) -> dict[str, str]:
        """State of one's own sign-in by server of the team. Raises ToolcribError."""
        known = self._exchange("GET", "/v1/sign-ins").get("servers")
        return {str(server): str(state) for server, state in object_or_empty(known).items()}

    def changes(self, cursor: int) -> Page:
        """Changes after a cursor, 0 for everything. Raises ToolcribError."""
        answer = self._exchange("GET", f"/v1/changes?cursor={cursor}&limit={_PAGE}")
        items, last, more = answer.get("items"), answer.get("cursor"), answer.get("more")
        if not isinstance(items, list) or type(last) is not int or not isinstance(more, bool):
            raise ToolcribError("The team server sent something else.", "Update Toolcrib.")
        return Page([item for item in items if _is_item(item)], last, more)

    def send(self, path: str, body: Json, method: str = "POST") -> Json:
        """Send an object. Raises ToolcribError."""
        return self._exchange(method, path, body)

    def send_of_server(self, kind: str, server: str, body: Json, method: str = "POST") -> Json:
        """Send something about a server where each member signs in. Raises ToolcribError."""
        try:
            return self.send(f"/v1/{kind}/{quote(server, safe='')}", body, method)
        except RefusedError:
            known = self.sign_ins()
            if server in known:
                raise
            raise ToolcribError(
                f"The team has no server {server[:100]} where each member signs in.",
                f"There are: {', '.join(known)}." if known else "It has no such server at all.",
            ) from None

    def save_profile(self, name: str, body: Json) -> Json:
        """Save a team profile, as an editor. Raises ToolcribError."""
        return self._exchange("PUT", f"/v1/profiles/{quote(name, safe='')}", body)

    def concerned(self, name: str) -> list[tuple[str, str]]:
        """Names and roles of those who get a team profile, for an editor. Raises ToolcribError."""
        rows = self._exchange("GET", f"/v1/profiles/{quote(name, safe='')}").get("members")
        members = [one for one in list_or_empty(rows) if _is_object(one)]
        return [(str(one.get("name")), str(one.get("role"))) for one in members]

    def _exchange(self, method: str, path: str, body: Json | None = None) -> Json:
        try:
            with self._http.stream(method, self.url + path, json=body) as answer:
                data = _bounded(answer)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise OfflineError(
                f"The team server {self.url} cannot be reached.",
                "What was synchronised last goes on working. Try again later.",
            ) from error
        value = _parsed(data)
        _check(answer.status_code, value, self.url)
        return value


def _bounded(answer: httpx2.Response) -> bytes:
    data = b""
    for part in answer.iter_bytes():
        data += part
        if len(data) > _LARGEST:
            raise ToolcribError("The team server sent too much at once.", "Tell who runs it.")
    return data


def _parsed(data: bytes) -> Json:
    """The object of an answer; {} where it is something else."""
    try:
        check_shape(data)
        value = httpx2.Response(200, content=data).json()
    except (TooLargeError, ValueError, RecursionError):
        return {}
    return object_or_empty(value)


def _check(status: int, value: Json, url: str) -> None:
    if status == 200:
        return
    words = str(object_or_empty(value.get("error")).get("message", ""))
    if status == 401:
        raise EndedTokenError(
            f"The team server {url} does not take the token.",
            "Ask an admin of the team for another, then: toolcrib team join URL",
        )
    if status == 403:
        raise RefusedError(
            "Your role in the team does not allow this.", "Ask an admin of the team."
        )
    if status in (429, 503):
        raise OfflineError("The team server is busy or its database is away.", "Try again later.")
    if status == 409:
        raise ChangedMeanwhileError(words or "This was changed in the team meanwhile.", "")
    if status in (400, 413):
        raise ToolcribError(words or "The team server does not take this.", "")
    raise ToolcribError(f"{url} is no team server.", "Check the URL.")


def _is_object(value: object) -> TypeGuard[Json]:
    return isinstance(value, dict)


def _is_item(item: object) -> TypeGuard[Json]:
    if not _is_object(item):
        return False
    return isinstance(item.get("kind"), str) and type(item.get("id")) is int
