"""A server whose texts come in another order from every start: trust holds, a real change does not.

Read, trusted, read again and served by real processes with Python's own random order of sets.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.verbs import without_encoder

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "fakes" / "unordered_server.py"
READINGS = 4


class Person:
    """Somebody at the command line, and a host."""

    def __init__(self, folder: Path, raw_host) -> None:
        self.home, self.folder, self.raw_host = folder / "toolcrib", folder, raw_host
        self.file = folder / "given.json"
        self.env = {
            **os.environ,
            "TOOLCRIB_HOME": str(self.home),
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
        }
        self.env.pop("PYTHONHASHSEED", None)
        without_encoder(self.home)

    def names(self, extra: str = "") -> None:
        """The server's entry, as it is imported."""
        extra = {"UNORDERED_EXTRA": extra} if extra else {}
        entry = {"command": sys.executable, "args": [str(SERVER)], "env": extra}
        self.file.write_text(json.dumps({"mcpServers": {"jira": entry}}), encoding="utf-8")

    def runs(self, *words: str) -> str:
        command = [sys.executable, "-m", "ui.main", *words]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=120)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    def calls(self, mode: str) -> str:
        """What a host gets for a call of the tool, from a gateway of its own."""
        words = ["--server", "jira"] if mode == "pruned" else []
        command = self.raw_host.gateway_command("--profile", "default", *words)
        host = self.raw_host.RawHost(command, self.env)
        try:
            host.initialize()
            given = {"key": "A-1"}
            if mode == "pruned":
                return self.raw_host.text(host.call("get_issue", given))
            return self.raw_host.text(host.run("jira/get_issue", given))
        finally:
            host.close()


@pytest.fixture
def person(tmp_path: Path, raw_host) -> Person:
    one = Person(tmp_path, raw_host)
    one.names()
    one.runs("import", str(one.file), "--scan", "--yes")
    one.runs("trust", "jira")
    return one


def test_a_server_of_unordered_texts_is_never_held_back(person):
    for _ in range(READINGS):
        read = person.runs("scan", "--yes")
        assert "changed" not in read, read
        assert not any(json.loads(person.runs("review", "--json")).values())
        for mode in ("pruned", "through"):
            assert person.calls(mode).endswith("got it")


def test_a_real_change_of_such_a_server_is_held_back_for_the_true_reason(person):
    person.names(extra="password")
    person.runs("import", str(person.file), "--scan", "--yes")
    read = person.runs("scan", "--yes") + person.runs("review")
    assert "changed" in read, read
    for mode in ("pruned", "through"):
        answer = person.calls(mode)
        assert "its text changed after it was trusted" in answer, answer
        assert "instruction" not in answer and "got it" not in answer
