"""Exchange to response: one JSON answer, or a stream of events up to it."""

import asyncio

from app.gateway.backend.web.exchange import Exchange
from app.gateway.backend.web.reading import GoneError, Receive
from app.gateway.backend.web.replies import Reply

_JSON_SECONDS = 3.0  # without an answer, after which a stream begins
_ALIVE_SECONDS = 15.0
_STATUS = {-32022: 400, -32021: 400, -32020: 400, -32602: 400, -32601: 404}  # without sessions


async def respond(
    exchange: Exchange, receive: Receive, reply: Reply, *, stateless: bool, events: bool
) -> None:
    """Send what comes of a request; `stateless` gives errors their HTTP status."""
    first = await _next(exchange, receive, _JSON_SECONDS if events else None)
    while first and not events:  # a client that wants JSON alone gets the answer alone
        first = await _next(exchange, receive, None)
    if first == b"":
        if exchange.answer:
            status = _STATUS.get(exchange.code, 200) if stateless else 200
            await reply.whole(status, exchange.answer)
        else:
            await reply.whole(202)
        return
    await reply.events()
    if first:
        await reply.event(first)
    await stream_events(exchange, receive, reply)


async def stream_events(exchange: Exchange, receive: Receive, reply: Reply) -> None:
    """Everything up to the answer."""
    while True:
        data = await _next(exchange, receive, _ALIVE_SECONDS)
        if data is None:
            await reply.alive()
        elif data:
            await reply.event(data)
        else:
            break
    if exchange.answer:
        await reply.event(exchange.answer)
    await reply.end()


async def _next(exchange: Exchange, receive: Receive, seconds: float | None) -> bytes | None:
    """The next message, b"" at the end, None after so long; raises GoneError without a client."""
    message = asyncio.ensure_future(exchange.get())
    gone = asyncio.ensure_future(_gone(receive))
    try:
        done, _ = await asyncio.wait(
            (message, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if message in done:
            return message.result()
        if gone in done:
            raise GoneError
        return None
    finally:
        message.cancel()
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
