"""Many calls, servers that crash at random: nothing lost, nothing doubled, no leak.

TOOLCRIB_SOAK=10x5000 runs ten sessions of 5,000 calls; the default is short.
"""

import os
import random
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
FAKES = ROOT / "tests" / "fakes"
sys.path.insert(0, str(FAKES))

import gateway_store  # noqa: E402
from raw_host import RawHost, gateway_command, text  # noqa: E402

from store.connection import open_store  # noqa: E402

SESSIONS, CALLS = map(int, os.environ.get("TOOLCRIB_SOAK", "2x400").split("x"))
AT_ONCE = 20


@pytest.mark.timeout(60 + SESSIONS * CALLS)
def test_nothing_is_lost_doubled_or_leaked(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLCRIB_MODELS", str(tmp_path / "no-models"))
    servers = {
        name: {
            "command": sys.executable,
            "args": [str(FAKES / "probe_upstream.py")],
            "env": {"PROBE_NAME": name},
        }
        for name in ("one", "two")
    }
    settings = {"gateway": {"loop_exempt": ["*"]}}
    database = gateway_store.stock(tmp_path / "home", servers, settings=settings)
    dice = random.Random(4)
    expected = Counter()
    for _ in range(SESSIONS):
        env = {"TOOLCRIB_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
        host = RawHost(gateway_command("--profile", "default"), env)
        try:
            host.initialize()
            expected += session(host, dice)
        finally:
            host.close()
        assert host.unsolicited == []  # no answer came twice, none without a question
    assert journal(database) == expected


def session(host, dice):
    """One conversation; the calls that the journal must hold, by tool."""
    made = Counter()
    memory = []
    for number in range(0, CALLS, AT_ONCE):
        asked = {}
        for place in range(AT_ONCE):
            server = dice.choice(("one", "two"))
            crash = dice.random() < 0.005
            tool = f"{server}/{'crash' if crash else 'echo'}"
            said = f"{number + place}"
            arguments = {"name": tool, "arguments": {} if crash else {"text": said}}
            params = {"name": "call_tool", "arguments": arguments}
            asked[host.ask("tools/call", params)] = (said, tool)
            made[tool] += 1
        for one, (said, tool) in asked.items():
            result = host.wait(one, 60)["result"]
            if not result.get("isError"):
                assert text(result) == said
            else:
                assert tool.split("/")[0] in text(result)
        memory.append(psutil.Process(host.process.pid).memory_info().rss)
    half = len(memory) // 2
    assert max(memory[half:]) <= memory[half] * 1.1
    return made


def journal(database):
    db = open_store(database)
    try:
        # an error without a tool is a server going down, not a call
        sql = (
            "SELECT tool, count(*) FROM events WHERE kind IN ('call', 'error')"
            " AND tool NOT LIKE '%/' GROUP BY tool"
        )
        return Counter(dict(db.execute(sql)))
    finally:
        db.close()
