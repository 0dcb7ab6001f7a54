import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.team_process import TrialProcess
from tests.fakes.web_client import WebClient

Connect = Callable[..., WebClient]


@pytest.fixture(scope="session")
def running_trial(no_process_left_behind: None) -> Iterator[TrialProcess]:
    # a short path: a socket's name has at most 107 characters
    folder = Path(tempfile.mkdtemp(prefix="tct"))
    trial = TrialProcess(folder)
    yield trial
    code = trial.stop()
    printed = trial.errors.read_text()
    shutil.rmtree(folder)
    assert (code, printed) == (0, "")


@pytest.fixture
def connect(running_trial: TrialProcess) -> Connect:
    """Makes a client of the trial: `connect("sam")`, at a path."""

    def make(member: str = "sam", path: str = "/mcp/everyday") -> WebClient:
        return WebClient(running_trial.port, running_trial.tokens[member], path)

    return make
