"""`toolcrib-team trial` as a process of its own: Postgres, sample servers, HTTP."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from app.team_server.sampling import ORGANISATION
from store.team import members, organisations, tokens
from store.team.connecting import as_operator

_STARTED = "Stop it with Ctrl+C"
_SECONDS = 60


class TrialProcess:
    """A running trial: its URL and a token for each member."""

    def __init__(self, folder: Path, more: Mapping[str, str] | None = None) -> None:
        self.errors = folder / "trial.err"
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "app.team_server.program", "trial"]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*command, "--folder", str(folder / "trial"), "--port", "0"],
                env={**os.environ, **(more or {})},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.printed = self._read()
        self.url = re.search(r"http://127\.0\.0\.1:\d+", self.printed)[0]
        self.port = int(self.url.rpartition(":")[2])
        self.database = re.search(r"TOOLCRIB_TEAM_DATABASE='(\S+)'", self.printed)[1]
        self.tokens = dict(re.findall(r"Token of (\w+) \(\w+\): (tct_\S+)", self.printed))

    def _read(self) -> str:
        lines = []
        limit = time.monotonic() + _SECONDS
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith(_STARTED):
                return "".join(lines)
            assert time.monotonic() < limit, "".join(lines)
        raise AssertionError(f"it ended: {self.errors.read_text()}")

    def new_token(self, member: str) -> str:
        """A token for a machine that will leave: leaving ends it."""
        with as_operator(self.database) as db:
            organisation = organisations.find(db, ORGANISATION)
            return tokens.issue(db, members.named(db, organisation.id, member), "test")[1]

    def stop(self) -> int:
        """End it as an operator does; its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
