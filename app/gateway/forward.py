"""The message router: requests, answers and notifications between one host and its servers."""

from collections.abc import Callable
from typing import Any

from app.gateway import wire
from app.gateway.host import Host
from app.gateway.protocol import CONNECTION_CLOSED, Json, text_result
from app.gateway.upstream import Exchange, Upstream

# turns a server's answer into another; None leaves it as it came
Finish = Callable[[bytes, Json], Json | None]


class Forwarder:
    """Maps ids and progress tokens both ways; every request of the host is answered once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._under_way: dict[tuple[type, Any], tuple[Upstream, Exchange]] = {}
        self._tokens: dict[tuple[type, Any], Upstream] = {}  # the host's progress tokens
        self._server_tokens: dict[str, tuple[Upstream, Any]] = {}  # ours -> a server's own
        self._asked: dict[tuple[str, type, Any], str] = {}  # a server's request -> id at the host
        self._count = 0

    # ---- host to server

    def forward(
        self,
        upstream: Upstream,
        line: bytes,
        message: Json,
        *,
        finish: Finish | None = None,
        failed: Callable[[str], Json | None] | None = None,
    ) -> None:
        """Send a host's request on; `line` is b"" when the message was rewritten.

        `failed` makes the answer for a server that cannot be reached.
        """
        host_id = message["id"]
        key = (type(host_id), host_id)

        def answered(answer_line: bytes, answer: Json) -> None:
            self._close(key, exchange)
            changed = finish(answer_line, answer) if finish is not None else None
            if changed is None:
                self._host.respond(host_id, answer, answer_line)
            else:
                self._host.respond(host_id, changed)

        def gave_up(reason: str) -> None:
            self._close(key, exchange)
            own = failed(reason) if failed is not None else None
            self._host.respond(host_id, own or _unreachable(message, reason))

        exchange = Exchange(line, message, answered=answered, failed=gave_up)
        self._under_way[key] = (upstream, exchange)
        if exchange.progress is not None:
            self._tokens[(type(exchange.progress), exchange.progress)] = upstream
        upstream.request(exchange)

    def _close(self, key: tuple[type, Any], exchange: Exchange) -> None:
        self._under_way.pop(key, None)
        if exchange.progress is not None:
            self._tokens.pop((type(exchange.progress), exchange.progress), None)

    def cancel(self, params: Json) -> None:
        """The host no longer wants an answer."""
        host_id = params.get("requestId")
        found = self._under_way.get((type(host_id), host_id))
        if found is not None:
            self._close((type(host_id), host_id), found[1])
            found[0].cancel(found[1], params)

    def progress_of_host(self, message: Json) -> None:
        """The host reports progress on something that a server asked of it."""
        params = message.get("params") or {}
        found = self._server_tokens.get(str(params.get("progressToken")))
        if found is not None:
            upstream, token = found
            told = {**message, "params": {**params, "progressToken": token}}
            upstream.notify(told)

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._under_way

    # ---- server to host

    def ask_host(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Send a server's request to the host, and the host's answer back."""
        server_id = message["id"]
        key = (upstream.name, type(server_id), server_id)
        own_token, line, asked = self._with_own_token(upstream, line, message)

        def answered(answer_line: bytes, answer: Json) -> None:
            self._asked.pop(key, None)
            if own_token:
                self._server_tokens.pop(own_token, None)
            upstream.notify(answer, wire.with_id(answer_line, answer, server_id))

        self._asked[key] = self._host.ask(line, asked, answered)

    def _with_own_token(
        self, upstream: Upstream, line: bytes, message: Json
    ) -> tuple[str, bytes, Json]:
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if params is None or not isinstance(meta, dict) or "progressToken" not in meta:
            return "", line, message
        self._count += 1
        token = f"toolcrib-{self._count}"
        self._server_tokens[token] = (upstream, meta["progressToken"])
        changed = {**params, "_meta": {**meta, "progressToken": token}}
        return token, b"", {**message, "params": changed}

    def cancelled_by_server(self, upstream: Upstream, params: Json) -> None:
        """A server no longer wants the host's answer."""
        server_id = params.get("requestId")
        own_id = self._asked.pop((upstream.name, type(server_id), server_id), None)
        if own_id is not None:
            self._host.withdraw(own_id, str(params.get("reason", "")))

    def progress_of_server(self, upstream: Upstream, line: bytes, message: Json) -> None:
        """Pass progress on, if it belongs to a request that this server is working on."""
        token = (message.get("params") or {}).get("progressToken")
        try:
            owner = self._tokens.get((type(token), token))
        except TypeError:  # not a text or a number
            return
        if owner is upstream:
            self._host.send_line(line.strip() or wire.dump(message))

    def notify_host(self, line: bytes, message: Json) -> None:
        """Pass a notification on as it is."""
        self._host.send_line(line.strip() or wire.dump(message))

    def server_gone(self, upstream: Upstream) -> None:
        """Withdraw what a server that is gone had asked of the host."""
        for key in [k for k in self._asked if k[0] == upstream.name]:
            own_id = self._asked.pop(key, None)
            if own_id is not None:
                self._host.withdraw(own_id, "The server that asked has stopped.")


def _unreachable(message: Json, reason: str) -> Json:
    """The answer when a server cannot be reached: a tool result for the model, else an error."""
    if message.get("method") == "tools/call":
        return wire.result(message["id"], text_result(reason, is_error=True))
    return wire.error(message["id"], CONNECTION_CLOSED, reason)
