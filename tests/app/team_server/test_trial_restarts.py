"""The trial started again, and stopped at an odd moment: real Postgres, real processes."""

import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.team_server import trial
from tests.fakes.team_process import TrialProcess
from tests.fakes.web_client import WebClient

pytestmark = pytest.mark.timeout(180)
ENDED = "database system is shut down"


@pytest.fixture
def folder(no_process_left_behind: None) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="ttr"))  # short: a socket's name has at most 107 characters
    yield made
    shutil.rmtree(made)


def log_end(cluster: Path) -> str:
    return (cluster / "log").read_text().splitlines()[-1]


def test_a_second_start_issues_no_token_and_the_first_ones_still_count(folder: Path) -> None:
    first = TrialProcess(folder)
    # at once: it may not serve yet, and Postgres ends with it all the same
    assert first.stop() in (0, 130)
    assert ENDED in log_end(folder / "trial" / "postgres")
    key = folder / "trial" / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 or os.name == "nt"
    second = TrialProcess(folder)
    try:
        assert sorted(first.tokens) == ["alex", "robin", "sam"]
        assert not second.tokens
        assert "Tokens were printed at the first start." in second.printed
        assert "toolcrib-team token issue sam --organisation sample-team" in second.printed
        client = WebClient(second.port, first.tokens["sam"], "/mcp/everyday")
        assert client.ask("tools/list").last["result"]["tools"]
    finally:
        assert second.stop() == 0
    assert second.errors.read_text() == ""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone")
def test_postgres_is_stopped_and_not_killed_where_its_folder_became_private(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = trial.start(folder / "private" / "postgres")
    (folder / "private").chmod(0o700)  # as each start of Toolcrib does with its home
    with caplog.at_level(logging.WARNING):
        cluster.stop()
    assert not caplog.messages
    assert ENDED in log_end(folder / "private" / "postgres")
