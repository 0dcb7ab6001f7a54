"""`toolcrib-team serve` as a process, against a database that the test has."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from guarded import Guarded, running

from app.team_server.program import main
from app.team_server.sealing import new_key
from tests.fakes.team_issuer import Issuer
from tests.fakes.team_kit import cluster, fresh_database
from tests.fakes.web_client import free_port

SECONDS = 60


class Replica:
    """One running replica."""

    def __init__(
        self, environ: Mapping[str, str], errors: Path, port: int = 0, drain: float = 0.2
    ) -> None:
        self.errors = errors
        with errors.open("ab") as sink:
            self.process = subprocess.Popen(
                [
                    sys.executable, "-m", "app.team_server.program", "serve",
                    "--listen", f"127.0.0.1:{port}", "--drain", str(drain),
                ],
                env={**os.environ, **environ},
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
            )  # fmt: skip
        line = self.process.stdout.readline()
        match = re.search(r":(\d+)$", line.strip())
        assert match, line + errors.read_text()
        self.port = int(match[1])

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End it; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


@contextmanager
def replica(environ: Mapping[str, str], errors: Path) -> Iterator[Replica]:
    """A replica for a block, ended as an operator ends it."""
    made = Replica(environ, errors, port=int(environ["TOOLCRIB_TEAM_URL"].rpartition(":")[2]))
    try:
        yield made
    finally:
        code = made.stop()
    assert code == 0, errors.read_text()


def environment(dsn: str, key: str, **more: str) -> dict[str, str]:
    """The configuration of a replica on a free port."""
    return {
        "TOOLCRIB_TEAM_DATABASE": dsn,
        "TOOLCRIB_TEAM_URL": f"http://127.0.0.1:{free_port()}",
        "TOOLCRIB_TEAM_KEY": key,
        **more,
    }


def program(environ: Mapping[str, str], *words: str, given: str = "") -> str:
    """Run a verb of toolcrib-team in this process; its output.

    Verbs as processes of their own are in test_team_gateway and test_ctrl_c.
    """
    printed, said = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(said):
        for name, value in environ.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO(given))
        code = main(words)
    assert code == 0, printed.getvalue() + said.getvalue()
    return printed.getvalue().strip()


@contextmanager
def team_with_a_guarded_server() -> Iterator[tuple[dict[str, str], Guarded, dict[str, str]]]:
    """Environment of a replica whose server wants each member's own sign-in, that server, and a
    token of each member."""
    folder = Path(tempfile.mkdtemp(prefix="tcs"))
    trial = cluster(folder / "pg")
    try:
        with fresh_database(trial) as dsn, running() as guarded:
            inside = guarded.base.removeprefix("http://")
            given = environment(dsn, new_key(), TOOLCRIB_TEAM_INSIDE=inside)
            tokens = {}
            for name, role in (("ed", "editor"), ("mia", "member"), ("max", "member")):
                where = ("--organisation", "acme")
                program(given, "user", "add", name, *where, "--role", role)
                tokens[name] = program(given, "token", "issue", name, *where)
            how = ("--url", guarded.url, "--sign-in", "member", "--organisation", "acme")
            program(given, "server", "add", "guarded", *how)
            with replica(given, folder / "err"):
                yield given, guarded, tokens
            assert not (folder / "err").read_text()
    finally:
        trial.stop()
        shutil.rmtree(folder)


@contextmanager
def team_with_an_issuer() -> Iterator[tuple[dict[str, str], Issuer]]:
    """Environment of a replica over a database of its own, and the issuer where its member
    jo signs in."""
    folder = Path(tempfile.mkdtemp(prefix="tci"))
    trial = cluster(folder / "pg")
    try:
        with fresh_database(trial) as dsn, Issuer() as issuer:
            given = environment(dsn, new_key(), TOOLCRIB_TEAM_ISSUERS=issuer.url)
            subject = ("--issuer", issuer.url, "--subject", "jo")
            program(given, "user", "add", "jo", "--organisation", "acme", *subject)
            with replica(given, folder / "err"):
                yield given, issuer
    finally:
        trial.stop()
        shutil.rmtree(folder)
