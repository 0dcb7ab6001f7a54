"""A host (or what a model makes it send) that is odd: each request is answered, nothing ends."""

import json
import signal
import sys
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from tests.fakes.cpu_time import CpuTime

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "fakes"
sys.path.insert(0, str(FAKES))

import gateway_store  # noqa: E402
import raw_host  # noqa: E402

from app.gateway.backend.client import request  # noqa: E402
from app.gateway.backend.rendezvous import STOP, Place  # noqa: E402
from app.gateway.lines import (  # noqa: E402
    LONGEST_LINE,
    TOO_LONG,
    LineSplitter,
    messages_of,
    method_of,
)
from app.gateway.stored_sharing import choose_sharing  # noqa: E402
from store.connection import open_store  # noqa: E402

SERVER = {"command": sys.executable, "args": ["-S", str(FAKES / "odd_upstream.py")], "env": {}}
MOST_MEGABYTES = 500
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "slow", "version": "1"},
}


class Served:
    """A gateway, alone or behind the backend, and the processes that serve."""

    def __init__(self, home: Path, way: str, alone: str, *, reads: bool = True) -> None:
        self.home, self.way, self.alone = home, way, alone
        words = ["--server", "odd"] if way == "pruned" else []
        env = {
            "TOOLCRIB_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "TOOLCRIB_MODELS": str(home / "no-models"),
            "TOOLCRIB_STANDALONE": alone,
        }
        self.host = raw_host.RawHost(raw_host.gateway_command(*words), env, reads=reads)
        if reads:
            self.host.initialize()
        else:
            self.host.ask("initialize", HELLO)
            self.host.notify("notifications/initialized")
        self.count = 0

    def call(self, **arguments: object) -> str:
        """The text that the odd server's `send` gives."""
        self.count += 1
        params = {"name": "send", "arguments": {**arguments, "count": self.count}}
        if self.way == "through":
            params = {"name": "call_tool", "arguments": {**params, "name": "odd/send"}}
        answer = self.host.wait(self.host.ask("tools/call", params))
        return raw_host.text(answer["result"]) if "result" in answer else str(answer["error"])

    def assert_well(self) -> None:
        assert self.host.process.poll() is None
        assert self.host.request("ping") == {}
        assert self.call() == "as it should be"
        assert all(megabytes(one) < MOST_MEGABYTES for one in self.processes())

    def processes(self) -> list[psutil.Process]:
        """The gateway, and the backend where there is one."""
        found = [psutil.Process(self.host.process.pid)]
        return found + ([] if self.alone else self.backends())

    def backends(self) -> list[psutil.Process]:
        found = []
        for one in psutil.process_iter(["cmdline", "environ"]):
            line, environ = one.info["cmdline"] or [], one.info["environ"] or {}
            if line[-1:] == ["serve"] and environ.get("TOOLCRIB_HOME") == str(self.home):
                found.append(one)
        return found

    def close(self) -> None:
        self.host.close()
        if not self.alone:
            request(Place(str(self.home)), STOP)
            assert not psutil.wait_procs(self.backends(), timeout=10)[1]


def megabytes(process: psutil.Process) -> float:
    """The most memory that it ever had."""
    if sys.platform != "linux":
        return process.memory_info().rss / 1e6
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd") / "home"
    gateway_store.stock(folder, {"odd": SERVER}, settings={"new_tools": "on"})
    return folder


WAYS = [("pruned", "1"), ("through", "1"), ("pruned", ""), ("through", "")]


@pytest.fixture(scope="module", params=WAYS, ids=["-".join(filter(None, w)) for w in WAYS])
def served(request, home):
    one = Served(home, *request.param)
    yield one
    one.close()


@pytest.mark.parametrize("number", ["7001", '"seven"'])
def test_a_line_of_over_64_mb_is_refused_by_its_id_in_little_memory(served, number):
    words = b'{"jsonrpc":"2.0","id":%b,"method":"ping","params":{"x":"' % number.encode()
    served.host.send_raw(words)
    for _ in range(LONGEST_LINE // (1 << 20) + 40):
        served.host.send_raw(b"a" * (1 << 20))
    served.host.send_raw(b'"}}\n')
    refused_by_id(served, json.loads(number), "a message of over")
    served.assert_well()


@pytest.mark.parametrize("number", ["7002", '"eight"'])
@pytest.mark.parametrize("order", ["first", "middle", "last"])
def test_a_message_that_is_not_parsed_is_refused_by_its_id(served, number, order):
    deep = "[" * 600 + "]" * 600
    line = {
        "first": f'{{"jsonrpc":"2.0","id":{number},"method":"ping","params":{deep}}}',
        "middle": f'{{"jsonrpc":"2.0","method":"ping","id":{number},"params":{deep}}}',
        "last": f'{{"method":"ping","params":{deep},"jsonrpc":"2.0","id":{number}}}',
    }[order]
    served.host.unsolicited.clear()
    served.host.send_raw(line.encode() + b"\n")
    refused_by_id(served, json.loads(number), "nested too deeply")
    served.assert_well()


def refused_by_id(served, number, reason):
    def mine():
        return [m for m in served.host.unsolicited if m.get("id") == number]

    (answer,) = served.host.until(mine, 60)
    assert reason in answer["error"]["message"]
    served.host.unsolicited.clear()


# ---- generated messages

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
ASKED = (
    *("ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list"),
    *("resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete"),
    *("resources/templates/list", "logging/setLevel", "tasks/list", "tasks/get", "x", ""),
)
MODERN = {
    "io.modelcontextprotocol/protocolVersion": raw_host.MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "h", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
named = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["call_tool", "search_tools", "odd/send", "odd__send", "send"])
        | values,
        "arguments": values
        | st.fixed_dictionaries(
            {}, optional={"name": values, "arguments": values, "query": values}
        ),
        "uri": values,
        "cursor": values,
        "level": values,
        "ref": values | st.fixed_dictionaries({"type": st.just("ref/prompt"), "name": values}),
        "argument": values,
        "requestState": values | st.just("toolcrib:0"),
        "_meta": values | st.fixed_dictionaries({"progressToken": values}),
    },
)
requests = st.fixed_dictionaries(
    {"method": st.sampled_from(ASKED) | st.text(max_size=6), "params": named | values},
)
notices = st.fixed_dictionaries(
    {
        "method": st.sampled_from(
            [
                *("notifications/cancelled", "notifications/progress", "notifications/initialized"),
                *("notifications/roots/list_changed", "notifications/toolcrib/milestone", "x"),
            ]
        ),
        "params": values
        | st.fixed_dictionaries(
            {}, optional={"requestId": values, "progressToken": values, "name": values}
        ),
    }
)
junk = st.fixed_dictionaries({}, optional={"id": values, "result": values, "error": values})
FUZZ = settings(
    max_examples=40,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # what hangs takes too long to shrink
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@FUZZ
@given(st.lists(requests, min_size=1, max_size=5), st.lists(notices | junk, max_size=4))
@example([{"method": "tools/call", "params": {"name": "search_tools", "arguments": "x"}}], [])
@example([{"method": "tools/call", "params": {"name": "odd/send", "arguments": [1]}}], [])
def test_every_generated_request_is_answered_once(served, wanted, between):
    host = served.host
    numbers = []
    for one in wanted:
        for extra in between:
            host.send({"jsonrpc": "2.0", **extra})
        # a cancelled request gets no answer, and generated texts may be any id
        numbers.append(ask(host, one))
    for number in numbers:
        host.wait(number, 20)
    assert host.request("ping") == {}
    assert host.process.poll() is None


def ask(host, one):
    number = host.ask("ping")  # whose id is then another's, for the next request
    host.wait(number)
    host._count += 1
    host._answers[host._count] = type(host._answers[number])()
    host.send({"jsonrpc": "2.0", "id": host._count, **one})
    return host._count


@pytest.mark.parametrize("way", ["pruned", "through"])
@pytest.mark.parametrize("name", [{}, [], None, 7])
def test_a_first_call_by_an_odd_name_is_answered_and_those_behind_it_too(home, way, name):
    # the server starts and lists its tools only now: both calls wait for that on other threads
    with closing(Served(home, way, "1")) as fresh:
        odd = {"name": name, "arguments": {"name": name, "arguments": {"a": 1}}}
        number = fresh.host.ask("tools/call", odd)
        assert fresh.call() == "as it should be"
        assert fresh.host.wait(number, 20)


def test_the_gateway_is_well_after_all_of_it(served):
    served.assert_well()


# ---- what is never run twice

REPEATED = [
    {"mode": "initialize"},
    {"method": "logging/setLevel"},
    {"path": "/list", "method": "tools/list"},
    {"q": "ping"},
    {"command": "resources/subscribe"},
]


@pytest.mark.parametrize("arguments", REPEATED, ids=range(len(REPEATED)))
def test_a_call_whose_arguments_look_like_a_method_is_never_run_again(arguments, tmp_path):
    """The adapter keeps and repeats what sets up a session, for the next backend."""
    log = tmp_path / "log"
    server = {**SERVER, "env": {"ODD_LOG": str(log)}}
    gateway_store.stock(tmp_path / "home", {"odd": server}, settings={"new_tools": "on"})
    one = Served(tmp_path / "home", "pruned", "")
    try:
        assert one.call(lines=[], **arguments) == "as it should be"
        waiting = one.host.ask(
            "tools/call", {"name": "send", "arguments": {**arguments, "answer": False}}
        )
        one.host.until(lambda: log.read_text(encoding="utf-8").count("tools/call") == 2)
        for process in one.backends():
            process.send_signal(signal.SIGKILL)
        assert "it may have run" in one.host.wait(waiting)["error"]["message"]
        one.assert_well()
        assert log.read_text(encoding="utf-8").count("tools/call") == 3
    finally:
        one.close()


@pytest.mark.parametrize("sharing", ["shared", "session"])
def test_a_host_that_does_not_read_holds_up_no_other(tmp_path, sharing):
    """Its answers of 18 MB wait for it, in order; the others' server and clock go on."""
    home = tmp_path / "home"
    gateway_store.stock(home, {"odd": SERVER}, settings={"new_tools": "on"})
    with closing(open_store(home / "toolcrib.db")) as db:
        choose_sharing(db, "odd", sharing)
    slow = Served(home, "pruned", "", reads=False)
    fast = Served(home, "pruned", "")
    try:
        fast.assert_well()
        line = json.dumps({"content": [{"type": "text", "text": "a" * 3_000_000}]})
        lines = ['{"jsonrpc":"2.0","id":@ID@,"result":' + line + "}"]
        for number in range(6):
            arguments = {"lines": lines, "answer": False, "count": number}
            slow.host.ask("tools/call", {"name": "send", "arguments": arguments})
        for _ in range(3):
            assert fast.host.request("ping", seconds=20) == {}
            assert fast.call() == "as it should be"
        slow.host.read()
        for number in range(2, 8):  # 1 is the greeting
            answer = slow.host.wait(number, 60)
            assert len(raw_host.text(answer["result"])) == 3_000_000
    finally:
        slow.host.close()
        fast.close()


def test_every_request_of_a_lost_batch_is_answered(tmp_path):
    gateway_store.stock(tmp_path / "home", {"odd": SERVER}, settings={"new_tools": "on"})
    one = Served(tmp_path / "home", "pruned", "")
    try:
        one.assert_well()
        params = {"name": "send", "arguments": {"answer": False}}
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
        batch = [{**call, "id": "b0"}, {**call, "id": "b1"}]
        deep = {"answer": False, "x": json.loads("[" * 450 + "]" * 450)}
        batch.append({**batch[0], "id": "deep", "params": {"name": "send", "arguments": deep}})
        one.host.send_raw(json.dumps(batch).encode() + b"\n")
        one.assert_well()
        for process in one.backends():
            process.send_signal(signal.SIGKILL)
        one.assert_well()
        answered = {m["id"] for m in one.host.unsolicited}
        assert {"b0", "b1", "deep"} <= answered
    finally:
        one.close()


# ---- the two functions that stand before everything

json_texts = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["method", "id", "params", 'a"b', "\\"]), inner, max_size=4
        )
    ),
)


@given(st.dictionaries(st.sampled_from(["method", "id", "params", "x"]), json_texts, max_size=4))
@example({"params": {"method": "initialize"}, "method": "tools/call"})
@example({"params": "method", "method": "tools/call"})
@example({"x": 'method": "initialize', "method": "tools/call"})
@example({"x": "\\", "method": "ping"})
def test_the_method_is_the_one_that_a_parser_reads(message):
    for indent in (None, 1):
        line = json.dumps(message, ensure_ascii=False, indent=indent).encode()
        method = message.get("method")
        if isinstance(method, str) and json.dumps(method, ensure_ascii=False) == f'"{method}"':
            assert method_of(line).decode() == method
        elif not isinstance(method, str):
            assert method_of(line) == b""
    assert method_of(json.dumps([message]).encode()) == b""


@given(st.lists(json_texts, max_size=4), st.sampled_from([None, 1]))
@example([{"id": 1}, {"id": "]\u00e9\ud800"}], None)
@example([], None)
def test_a_batch_is_cut_into_its_messages_and_nothing_else_is(batch, indent):
    line = json.dumps(batch, indent=indent).replace("\n", "\r\t ").encode() + b"\n"
    parts = messages_of(line)
    if batch and all(isinstance(one, dict) for one in batch):
        assert [json.loads(part) for part in parts] == batch
        assert all(part.endswith(b"\n") and part.count(b"\n") == 1 for part in parts)
        assert all(part[:-1] in line for part in parts)
    else:
        assert parts == [line]
    for broken in (line[:-2], line[:-1] + b"x\n", b"[" * 60_000, b'{"a":[{}]}', b'[{"\xff":NaN},]'):
        assert messages_of(broken) == [broken]


@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 7))
def test_lines_come_out_as_they_went_in_whatever_the_chunks(pieces, size):
    whole = b"\n".join(pieces)
    splitter = LineSplitter()
    found = []
    for at in range(0, len(whole), size):
        found += splitter.feed(whole[at : at + size])
    assert b"".join([*found, *splitter.rest()]) == whole
    assert all(one.endswith(b"\n") and one.count(b"\n") == 1 for one in found)


def test_a_long_line_costs_linear_time_and_little_memory():
    splitter = LineSplitter(1 << 20)
    with CpuTime() as cpu:
        for _ in range(3_000):
            assert splitter.feed(b"a" * 65_536) == []
        (line, after) = splitter.feed(b"z\nnext\n")
        assert line.startswith(TOO_LONG + b"aaa") and line.endswith(b"az\n") and len(line) < 3_000
        assert after == b"next\n"
    assert cpu.seconds < 2
    assert splitter.rest() == []
