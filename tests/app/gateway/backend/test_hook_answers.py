"""What a hook adds to a prompt, over one backend that all of these tests ask."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gateway_store
import pytest
import raw_host
from backend_processes import end_backends

from app.core.paths import Paths
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model
from app.gateway.hook import HOSTS, printed
from app.gateway.rehearsal import rehearse_hook
from app.hooks.small_talk import SmallTalk
from app.hooks.suggestion import MOST_TOKENS
from app.tokens.counters import counter

ROOT = Path(__file__).parents[4]
PROMPT = "please read the note with number 7 to me"
Hook = Callable[..., str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hooks") / "home"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    """The encoder that the backend loads, too."""
    models = Path(os.environ["TOOLCRIB_MODELS"])
    return Encoder.load(ensure_model(Paths(models.parent, models)))


@pytest.fixture(scope="module")
def notes(home: Path, encoder: Encoder) -> Path:
    """A store with one server whose tools are about notes, embedded; the database."""
    probe: dict[str, Any] = {
        "command": sys.executable,
        "args": [str(ROOT / "tests" / "fakes" / "probe_upstream.py")],
        "env": {"PROBE_NAME": "notes"},
    }
    return gateway_store.stock(home, {"notes": probe}, encode=True)


@pytest.fixture(scope="module")
def hook(home: Path) -> Hook:
    """hook(host, prompt) runs the program as a host would; its output."""
    outer = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT), "TOOLCRIB_HOOK_SECONDS": "20"}

    def run(host: str, prompt: str, **fields: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "app.gateway.main", "hook", host],
            input=json.dumps({"prompt": prompt, **fields}).encode(),
            env={**os.environ, **outer},
            capture_output=True,
            timeout=60,
            check=True,
        )
        assert not done.stderr, done.stderr
        return done.stdout.decode()

    return run


@pytest.fixture(scope="module", autouse=True)
def warm(notes: Path, hook: Hook, home: Path) -> Iterator[raw_host.RawHost]:
    """A host that is connected through Toolcrib, and a backend that is ready to suggest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOOLCRIB_STANDALONE", raising=False)
        patch.setenv("TOOLCRIB_BACKEND_IDLE", "60")
        outer = {"TOOLCRIB_HOME": str(home), "PYTHONPATH": str(ROOT)}
        host = raw_host.RawHost(raw_host.gateway_command("--profile", "default"), outer)
        try:
            host.initialize()
            host.request("tools/list")
            limit = time.monotonic() + 60
            while not spoken(hook("claude-code", PROMPT, session_id="warming")):
                assert time.monotonic() < limit, "the hook never suggests anything"
            yield host
        finally:
            host.close()
            end_backends(home)


def spoken(output: str) -> str:
    """The text that the hook adds, in any host's form."""
    if not output:
        return ""
    made = json.loads(output)
    return str(made.get("hookSpecificOutput", made)["additionalContext"])


def test_a_prompt_gets_the_signature_of_the_tool_that_it_needs(hook: Hook) -> None:
    text = spoken(hook("claude-code", f"{PROMPT} please", session_id="a"))
    assert "notes/read_note(number: integer)" in text
    assert "call_tool" in text
    assert "third-party" in text
    assert counter("o200k_base").count(text) <= MOST_TOKENS


def test_each_host_gets_its_own_form(hook: Hook) -> None:
    events_of = {
        "claude-code": "UserPromptSubmit",
        "codex": "UserPromptSubmit",
        "qwen-code": "UserPromptSubmit",
        "gemini-cli": "BeforeAgent",
    }
    for host, event in events_of.items():
        prompt = f"{PROMPT}, for {host}"
        made = json.loads(hook(host, prompt, submitted_prompt=prompt))
        assert list(made) == ["hookSpecificOutput"]
        assert made["hookSpecificOutput"]["hookEventName"] == event
    assert list(json.loads(hook("copilot-cli", f"{PROMPT}, copilot"))) == ["additionalContext"]


@pytest.mark.parametrize("host", HOSTS)
def test_a_preview_is_what_the_hook_prints_to_the_byte(
    hook: Hook, notes: Path, encoder: Encoder, host: str
) -> None:
    talk = SmallTalk(encoder)
    own = 12 + HOSTS.index(host)  # no prompt is answered twice
    request, other = f"please read the note with number {own} aloud", f"delete note {own} for good"
    for number, prompt in enumerate((request, "thanks!", other, "/compact")):
        session = f"{host} {number}"
        real = hook(host, prompt, session_id=session, submitted_prompt=prompt)
        preview = rehearse_hook(
            str(notes), "default", host="", prompt=prompt, encoder=encoder, small_talk=talk
        )
        assert printed(host, preview.text) == real, prompt
        assert bool(preview.why) is not bool(real), "it says why it is silent"


def test_silence_is_the_rule(hook: Hook) -> None:
    long = "Read a note. " * 3_000
    for prompt in ("thanks!", "ok, go on", "/compact", "!ls", "", "  ", long):
        assert hook("claude-code", prompt) == "", prompt[:40]


def test_the_same_suggestion_is_not_repeated(hook: Hook) -> None:
    assert hook("claude-code", PROMPT, session_id="b")
    assert hook("claude-code", f"{PROMPT}!", session_id="b") == ""
    assert hook("claude-code", f"{PROMPT}!", session_id="c")


def test_a_prompt_that_two_hooks_see_is_answered_once(hook: Hook) -> None:
    prompt = "delete the note with number 3 for good"
    assert hook("claude-code", prompt, session_id="t")
    assert hook("copilot-cli", prompt, session_id="t") == "", "VS Code runs both hosts' hooks"


def test_qwens_hook_on_a_tools_result_is_no_prompt(hook: Hook) -> None:
    assert hook("qwen-code", "") == ""
    assert hook("qwen-code", PROMPT, submitted_prompt="") == "", "nothing was submitted"
    assert hook("qwen-code", f"{PROMPT}, qwen", session_id="q"), (
        "a version that does not say it twice"
    )
