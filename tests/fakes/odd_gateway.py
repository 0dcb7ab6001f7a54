"""The odd server behind a real gateway, and the odd messages that it is made to send."""

import json
import sys
from pathlib import Path

import gateway_store
import psutil
import raw_host

from app.gateway.backend.client import request
from app.gateway.backend.rendezvous import STOP, Place

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "fakes"
SERVER = {"command": sys.executable, "args": ["-S", str(FAKES / "odd_upstream.py")], "env": {}}
RIGHT = "as it should be"
AT_ONCE = 8  # seconds; under half of one on an idle machine, and tests run on busy ones
DOUBTED = 25  # the same for answers that belong to no request


class Odd:
    """The odd server behind a gateway, called the same way in both ways of serving."""

    def __init__(self, host, way, home=None):
        self.host = host
        self.way = way
        self.home = home  # of the backend, where there is one
        self.count = 0

    def call(self, tool, seconds=AT_ONCE, **arguments):
        """The text of what the host got instead of waiting for ever."""
        self.count += 1  # or the loop guard has something to say
        named = {"name": tool, "arguments": {**arguments, "count": self.count}}
        if self.way == "through":
            named = {"name": "call_tool", "arguments": {**named, "name": f"odd/{tool}"}}
        message = self.host.wait(self.host.ask("tools/call", named), seconds)
        return raw_host.text(message["result"]) if "result" in message else str(message["error"])

    def send(self, *lines, answer=True, seconds=AT_ONCE):
        return self.call("send", seconds, lines=list(lines), answer=answer)

    def assert_well(self):
        assert self.send() == RIGHT
        assert self.host.request("ping", seconds=AT_ONCE) == {}

    def close(self):
        """End the host, and the backend that it has."""
        self.host.close()
        if self.home is not None:
            running = backends(self.home)
            request(Place(str(self.home)), STOP)
            assert not psutil.wait_procs(running, timeout=20)[1]


def backends(home):
    """The backend processes over that home."""
    found = []
    for one in psutil.process_iter(["cmdline", "environ"]):
        words, environ = one.info["cmdline"] or [], one.info["environ"] or {}
        if words[-1:] == ["serve"] and environ.get("TOOLCRIB_HOME") == str(home):
            found.append(one)
    return found


def stock(folder):
    """A store with that server, whose tools are on."""
    gateway_store.stock(folder, {"odd": SERVER}, settings={"new_tools": "on"})
    return folder


def start(home, way, backend=False):
    """A host and its gateway, or its adapter and the backend over that home."""
    arguments = ["--server", "odd"] if way == "pruned" else []
    models = str(home / "no-models")
    env = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT), "TOOLCRIB_MODELS": models}
    env["TOOLCRIB_STANDALONE"] = "" if backend else "1"
    host = raw_host.RawHost(raw_host.gateway_command(*arguments), env)
    host.initialize()
    assert not backend or backends(home)
    return Odd(host, way, home if backend else None)


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}).replace('"@ID@"', "@ID@")


OWN = {"id": "@ID@"}
DEEP = '{"jsonrpc":"2.0","id":@ID@,"result":' + "[" * 50_000 + "]" * 50_000 + "}"
REFUSALS = [
    line(**OWN, error="no"),
    line(**OWN, error=["no"]),
    line(**OWN, error={"code": "x", "message": ["no"]}),
    line(**OWN, error={}),
    line(**OWN),
    '{"jsonrpc":"2.0","id":@ID@,"result":{"content":nonsense}}',
    '{"result":{},"id":@ID@,,"jsonrpc":"2.0","id":@ID@}',
    DEEP,
]
NOBODYS = ['"²"', "{}", "[1]", "-7", "@ID@.5", "true", '"' + "9" * 5000 + '"', "1e400"]
