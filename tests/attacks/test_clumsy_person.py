"""A person in odd surroundings who types odd words: a sentence or an answer, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def toolcrib(tmp_path: Path):
    """toolcrib(*words, before=..., out=..., **variables): (exit code, stdout, stderr)."""
    home = tmp_path / "person"
    home.mkdir()

    def run(*words, before=None, out=subprocess.PIPE, cwd=ROOT, **variables):
        own = {"HOME": str(home), "TOOLCRIB_HOME": str(tmp_path / "toolcrib")}
        env = {**os.environ, **own, "PYTHONPATH": str(ROOT), **variables}
        done = subprocess.run(
            [sys.executable, "-m", "ui.main", *words],
            env={name: value for name, value in env.items() if value is not None},
            preexec_fn=before,
            stdin=None if before else subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            cwd=cwd,
            timeout=120,
            check=False,
        )
        errors = done.stderr.decode("utf-8", "replace")
        assert "Traceback" not in errors and "Exception ignored" not in errors, errors
        return done.returncode, (done.stdout or b"").decode("utf-8", "replace"), errors

    return run


ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
SURROUNDINGS = {
    "only ASCII": ASCII,
    "a locale that is none": {"LC_ALL": "xx_YY.nothing", "LANG": "C"},
    "no HOME": {"HOME": None},
    "an empty HOME": {"HOME": ""},
    "a HOME that is relative": {"HOME": "relative"},
    "one column": {"COLUMNS": "1"},
    "a number of columns that is none": {"COLUMNS": "-5"},
    "no TERM": {"TERM": None},
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_odd_surroundings_stop_no_verb(toolcrib, name):
    for words in (["profile", "show"], ["hosts", "--all"], ["check", "--suggest", "--allow-empty"]):
        code, out, errors = toolcrib(*words, **SURROUNDINGS[name])
        assert code == 0 and out, errors


@pytest.mark.parametrize("place", ["/dev/null/x", "/proc/self/x", __file__])
def test_a_home_that_cannot_be_one_is_named(toolcrib, place):
    code, _, errors = toolcrib("scan", "--yes", TOOLCRIB_HOME=place)
    assert code == 1 and errors.startswith("toolcrib: ") and place in errors


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_a_home_whose_name_is_no_text_is_named(toolcrib, tmp_path):
    home = os.fsdecode(os.fsencode(tmp_path) + b"/h\xff")
    for words in (["hosts"], ["scan", "--yes"], ["doctor"]):
        code, _, errors = toolcrib(*words, HOME=home, TOOLCRIB_HOME=None)
        assert code == 1 and "has a name that is not UTF-8" in errors, errors


@pytest.mark.skipif(os.name == "nt", reason="no numbers for streams")
@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_closed_stream_stops_no_verb(toolcrib, stream):
    for words in (["scan"], ["hosts", "--all"], ["restore", "all"]):
        code, *_ = toolcrib(*words, before=lambda: os.close(stream))
        assert code in (0, 1, 4)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_answer_that_cannot_be_written_is_said_to_be_so(toolcrib):
    with Path("/dev/full").open("wb") as full:
        for words in (["hosts", "--all"], ["hosts", "--all", "--json"]):
            code, _, errors = toolcrib(*words, out=full)
            assert code == 1
            assert errors.startswith("toolcrib: The answer could not be written: No space left")


def test_a_folder_that_is_gone_stops_no_verb(toolcrib, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    assert toolcrib("hosts", "--all", before=lambda: (os.chdir(gone), gone.rmdir()))[0] == 0


ODD_WORDS = (
    ["profile", "create", ""],
    ["profile", "create", "a/b"],
    ["profile", "create", "x" * 5_000],
    ["profile", "set", "budget.tokens=-1"],
    ["profile", "set", "budget.tokens=1e400"],
    ["profile", "set", "="],
    ["profile", "delete", "default"],
    ["profile", "off", "["],
    ["add", "", "--", "x"],
    ["add", "n", "--", ""],
    ["import", "/"],
    ["import", "/dev/zero"],
    ["labels", "import", "/dev/zero"],
    ["labels", "import", "/etc/hostname"],
    ["route", "", "--words-only"],
    ["route", "x" * 100_000, "--words-only"],
    ["restore", "nohost"],
    ["trust", "nosuch"],
    ["summary", "set", "a/b", "x" * 100_000],
    ["backend", "share", "nosuch", "shared"],
    ["sign-out", "nosuch"],
    ["hook", "install", "nohost"],
    ["requests", "show", "nosuch"],
    ["learn"],
)


@pytest.mark.parametrize("words", ODD_WORDS, ids=lambda words: " ".join(words)[:30])
def test_odd_words_get_a_sentence(verbs, tmp_path, words):
    if any(word.startswith("/dev") for word in words) and not Path("/dev/zero").exists():
        pytest.skip("no such device")
    own = {"HOME": str(tmp_path), "TOOLCRIB_HOME": str(tmp_path / "toolcrib")}
    done = verbs.run_text(*words, env={**os.environ, **own})
    code, out, errors = done.returncode, done.stdout, done.stderr
    assert "Traceback" not in errors and "Exception ignored" not in errors, errors
    assert code in (0, 1, 4, 5) and (out or errors), errors  # 2: no verb has these words any more
    assert code != 1 or "toolcrib: " in errors
