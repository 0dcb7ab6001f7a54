"""A TOOLCRIB_HOME that is no whole path: one sentence, and no empty home where a program stands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FAKES = ROOT / "tests" / "fakes"
sys.path.insert(0, str(FAKES))

import raw_host  # noqa: E402

from app.core.errors import ToolcribError  # noqa: E402
from app.core.home import home_folder  # noqa: E402

SENTENCE = (
    "TOOLCRIB_HOME is 'here', another folder in each working directory:"
    " set it to a whole path, or leave it out."
)


@pytest.fixture
def stand(tmp_path: Path) -> Path:
    """The folder that programs stand in."""
    folder = tmp_path / "stand"
    folder.mkdir()
    return folder


def surroundings(stand: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(stand.parent),
        "PYTHONPATH": str(ROOT),
        "QT_QPA_PLATFORM": "offscreen",
        "TOOLCRIB_HOME": "here",
        **more,
    }


def run(stand: Path, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=stand,
        env=surroundings(stand),
        input=given,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("ui.main",),
        ("ui.main", "pictures", "out"),
        ("ui.main", "scan", "--yes"),
        ("ui.main", "review"),
        ("ui.main", "review", "--json"),
        ("ui.main", "backend", "status"),
        ("ui.main", "route", "send a mail"),
        ("app.gateway.main", "serve"),
    ],
)
def test_window_command_line_and_backend_refuse_it(stand, words):
    done = run(stand, *words)
    assert done.returncode == 1
    assert SENTENCE in done.stderr.decode()
    assert b"Traceback" not in done.stderr and done.stdout == b""
    assert list(stand.iterdir()) == []


@pytest.mark.parametrize("words", [(), ("--server", "mail"), ("--server", "mail", "--", "true")])
@pytest.mark.parametrize("alone", ["1", ""])
def test_a_gateway_says_it_in_every_answer_and_on_stderr(stand, tmp_path, words, alone):
    errors = tmp_path / "stderr"
    code = f"import os; os.chdir({str(stand)!r}); from app.gateway.main import main; main()"
    env = surroundings(stand, TOOLCRIB_STANDALONE=alone)
    with errors.open("wb") as stderr:
        host = raw_host.RawHost([sys.executable, "-c", code, *words], env, stderr=stderr)
        try:
            assert host.initialize()["instructions"] == SENTENCE
            assert isinstance(host.tools(), list)
            result = host.call("search_tools", {"query": "send a mail"})
            assert result["isError"] and raw_host.text(result) == SENTENCE
            assert host.request("ping") == {}
        finally:
            host.close()
    assert errors.read_text(encoding="utf-8") == f"toolcrib-gateway: {SENTENCE}\n"
    assert list(stand.iterdir()) == []


def test_a_hook_lets_the_prompt_go_on(stand):
    given = json.dumps({"prompt": "send a mail to the team"}).encode()
    done = run(stand, "app.gateway.main", "hook", "claude-code", given=given)
    assert (done.returncode, done.stdout) == (0, b"")
    assert list(stand.iterdir()) == []


@pytest.mark.parametrize(
    "given", ["here", "./here", "../here", "a\x1b[2Jb", "~nobody-of-this-name/x"]
)
def test_every_path_that_is_not_whole_is_refused(given):
    with pytest.raises(ToolcribError, match="set it to a whole path") as refused:
        home_folder({"TOOLCRIB_HOME": given})
    assert refused.value.title.isprintable()
