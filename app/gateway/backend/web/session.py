"""One client's conversation over HTTP: the gateway's own loop, fed by requests, not by a pipe."""

import queue
from collections import deque

from app.gateway.backend.hello import Hello
from app.gateway.backend.web.exchange import Exchange
from app.gateway.environment import GatewayEnvironment
from app.gateway.gateway import Gateway
from app.gateway.options import Options
from app.gateway.serving.host import Host
from app.mcp import jsonrpc, revisions
from app.mcp.protocol import (
    CANCELLED,
    CONNECTION_CLOSED,
    LISTEN,
    PROGRESS,
    SUBSCRIPTION_KEY,
    meta_of,
    params_of,
    progress_under,
    with_progress_token,
)
from store.typed import Any, Json

_MOST_KEPT = 100  # messages for the client's own stream, until it opens one
_UNREACHED = "The client has no stream open on which it could be asked."


class WebHost(Host):
    """The client: each message goes onto the response that it belongs to.

    Requests get ids and progress tokens of our own, so that windows of one program that share a
    stateless session never meet.
    """

    def __init__(self, prefix: str, *, stateless: bool) -> None:
        super().__init__(-1)
        self.prefix = prefix
        self._stateless = stateless
        self._exchanges: dict[int, Exchange] = {}
        self._number = 0
        self._stream: Exchange | None = None
        self._kept: deque[bytes] = deque(maxlen=_MOST_KEPT)

    @property
    def busy(self) -> bool:
        """True if a response is open."""
        return bool(self._exchanges) or self._stream is not None

    # ---- from the client

    def open(self, message: Json, exchange: Exchange) -> tuple[int, Json]:
        """The number and the form under which the gateway gets a request."""
        with self._counting:
            self._number += 1
            number = self._number
            self._exchanges[number] = exchange
        own = {**message, "id": number}
        if exchange.token is not None:
            own = with_progress_token(own, number)
        return number, own

    def translated(self, message: Json) -> Json:
        """A notification of the client with our numbers in place of its own."""
        params = params_of(message)
        if message.get("method") != CANCELLED or "requestId" not in params:
            return message
        number = self._number_of(params["requestId"])
        return {**message, "params": {**params, "requestId": number}}

    def _number_of(self, client_id: Any) -> int:
        for number, exchange in list(self._exchanges.items()):
            if type(exchange.client_id) is type(client_id) and exchange.client_id == client_id:
                return number
        return -1

    def leave(self, number: int) -> None:
        """Remove a response that the client has left."""
        exchange = self._exchanges.pop(number, None)
        if exchange is not None:
            exchange.end()

    def listen(self, stream: Exchange) -> None:
        """The client's own stream, for what belongs to no request; an older one ends."""
        old, self._stream = self._stream, stream
        if old is not None:
            old.end()
        while self._kept:
            stream.put(self._kept.popleft())

    def unlisten(self, stream: Exchange) -> None:
        """The client closed it."""
        if self._stream is stream:
            self._stream = None

    def hang_up(self) -> None:
        """End every response."""
        self.gone = True
        for number in list(self._exchanges):
            self.leave(number)
        if self._stream is not None:
            self._stream.end()

    # ---- to the client (Host)

    def respond(self, host_id: Any, answer: Json, line: bytes = b"") -> None:
        """Answer a request of the client."""
        method = self._modern.pop((type(host_id), host_id), "")
        exchange = self._exchanges.pop(host_id, None) if type(host_id) is int else None
        if exchange is None:
            return
        if method:
            answer, line = {**revisions.completed(method, answer), "id": host_id}, b""
        code = (answer.get("error") or {}).get("code", 0) if "error" in answer else 0
        exchange.end(jsonrpc.with_id(line, answer, exchange.client_id), code)

    def forget(self, host_id: object) -> None:
        """No answer will be sent to this request."""
        super().forget(host_id)
        if type(host_id) is int:
            self.leave(host_id)

    def send(self, message: Json) -> None:
        """Write one message."""
        self._route(message, b"")

    def send_line(self, line: bytes) -> None:
        """Write one line."""
        messages, clean = jsonrpc.parse(line)
        for message in messages:
            self._route(message, line if clean else b"")

    def _route(self, message: Json, line: bytes) -> None:
        if "method" not in message:  # an answer to what had no usable id: the endpoint refused it
            return
        exchange, message, line = self._placed(message, line)
        data = line.strip() or jsonrpc.dump(message)
        if exchange is not None and exchange.put(data):
            return
        if self._stream is not None and self._stream.put(data):
            return
        if not self._stateless:
            self._kept.append(data)
        elif "id" in message:
            refusal = jsonrpc.error(message["id"], CONNECTION_CLOSED, _UNREACHED)
            self.answer(b"", refusal)

    def _placed(self, message: Json, line: bytes) -> tuple[Exchange | None, Json, bytes]:
        """The response that a message belongs to, and the message in the client's own words."""
        params = params_of(message)
        meta = meta_of(message)
        stream = meta.get(SUBSCRIPTION_KEY)
        listener = self._exchanges.get(stream) if type(stream) is int else None
        if listener is not None:
            own = {**meta, SUBSCRIPTION_KEY: listener.client_id}
            return listener, {**message, "params": {**params, "_meta": own}}, b""
        if message["method"] == PROGRESS:
            token = params.get("progressToken")
            asking = self._exchanges.get(token) if type(token) is int else None
            if asking is not None:
                return asking, progress_under(asking.token, message), b""
            return None, message, line
        return self._cause(), message, line

    def _cause(self) -> Exchange | None:
        """The request that something without a name of its cause most likely belongs to.

        A session is one client's, so the latest; a stateless one may be several windows', so none
        where that is not clear.
        """
        calls = [one for one in list(self._exchanges.values()) if one.method != LISTEN]
        if self._stateless and len(calls) != 1:
            return None
        return calls[-1] if calls else None


class WebSession:
    """A client with a session, or all stateless requests of one program."""

    def __init__(
        self,
        number: int,
        options: Options,
        hello: Hello,
        environment: GatewayEnvironment,
        *,
        stateless: bool,
    ) -> None:
        self.number = number
        self.hello = hello
        self.options = options
        prefix = f"toolcrib-{environment.tag}-{number}-"
        self.host = WebHost(prefix, stateless=stateless)
        self.gateway = Gateway(options, self.host, environment)
        self._clock = environment.clock
        self.used = self._clock()
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    @property
    def name(self) -> str:
        """The client's own name for itself, "" until it has greeted."""
        return self.gateway.host_name

    def run(self) -> None:
        """Serve until the session ends; its servers are let go then."""
        try:
            self.gateway.run(iter(self._lines.get, b""))
        finally:
            self.host.hang_up()
            self.gateway.close()

    def take(self, message: Json) -> None:
        """A message of the client, in our numbers."""
        self.used = self._clock()
        self._lines.put(jsonrpc.dump(message) + b"\n")

    def withdraw(self, number: int) -> None:
        """The client no longer wants that answer."""
        params = {"requestId": number}
        self.take(jsonrpc.notification(CANCELLED, params))
        self.host.leave(number)

    def idle(self, seconds: float) -> bool:
        """True if it has been unused for so long."""
        if self.host.busy:
            self.used = self._clock()
        return self._clock() - self.used > seconds

    def end(self) -> None:
        """Stop serving, soon."""
        self.host.hang_up()
        self._lines.put(b"")
