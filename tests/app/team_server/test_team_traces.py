"""Spans of a replica reach the operator's receiver: names, codes and times, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.team_server.configuration import from_environ
from app.team_server.sealing import new_key
from tests.fakes.otlp_receiver import Receiver, attributes
from tests.fakes.team_replica import environment, program, replica
from tests.fakes.web_client import WebClient

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
QUERY = "papers of mallory"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def test_a_request_is_a_span_of_its_clients_trace(
    dsn: str, receiver: Receiver, tmp_path: Path
) -> None:
    given = environment(dsn, new_key(), TOOLCRIB_TEAM_TRACES=receiver.endpoint)
    program(given, "user", "add", "jolanda", "--organisation", "acme-traced")
    token = program(given, "token", "issue", "jolanda", "--organisation", "acme-traced")
    with replica(given, tmp_path / "err") as one:
        client = WebClient(one.port, token, "/mcp")
        client.headers["traceparent"] = f"00-{TRACE}-{PARENT}-01"
        asked = {"name": "search_tools", "arguments": {"query": QUERY}}
        assert client.ask("tools/call", asked).status == 200
        client.path = f"/servers/{QUERY.split()[-1]}/mcp"
        assert client.ask("tools/list").status == 403
    by_name = {span.name: span for span in receiver.spans}
    whole = by_name["POST /mcp"]
    assert (whole.trace_id.hex(), whole.parent_span_id.hex()) == (TRACE, PARENT)
    assert attributes(whole) == {
        "http.request.method": "POST",
        "http.route": "/mcp",
        "http.response.status_code": 200,
    }
    assert by_name["search"].parent_span_id == whole.span_id
    refused = attributes(by_name["POST /servers/{name}/mcp"])
    assert refused["http.response.status_code"] == 403
    sent = b"".join(receiver.raw)
    assert not [word for word in ("jolanda", "acme-traced", "mallory") if word.encode() in sent]


@pytest.mark.parametrize("address", ["collector:4318", "http://[collector"])
def test_an_address_that_is_none_is_refused_at_the_start(dsn: str, address: str) -> None:
    given = environment(dsn, new_key(), TOOLCRIB_TEAM_TRACES=address)
    with pytest.raises(ToolcribError, match="TOOLCRIB_TEAM_TRACES is no address of a receiver"):
        from_environ(given)
