"""Real hosts with Toolcrib's hook: what a prompt's first request holds, and what it does not."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))
from judge.fake_model import DIRECT, Conversation, FakeModel, Request, Script
from judge.hooked import HINT, HookedHousehold
from judge.journey import ALL, script, shown_tools
from judge.real import ALL_VARIABLE, HOSTS, chosen, real_host
from judge.trial import program
from judge.trust import CodexWindow

from app.hooks.entries import COMMAND, LIST, MCP
from app.hooks.files import hook_state
from app.hooks.rules import RULES, rules_hosts, rules_state
from app.hooks.status import ON, WAITING
from app.hooks.suggestion import MOST_LISTED
from app.hosts.facts import host as facts_of
from store.records import AS_IS, THROUGH

pytestmark = [
    pytest.mark.hosts,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("encoder_exported"),
]
EVERYDAY = {host.id for host in chosen(os.environ)}
PROMPT = "probe the tool alpha get of the stub"
THANKS = "thanks!"
ANOTHER = "run the action of res 7 of the stub"
WORDS = RULES[:60]  # of what a host's own instructions say
SHAPES = ("claude-code", "copilot-cli")  # one host for each shape of a hook's file
READERS = EVERYDAY if ALL_VARIABLE in os.environ else {"claude-code", "codex"}  # a minute less
Make = Callable[..., HookedHousehold]


def _marked(
    host_id: str, form: str, everyday: Collection[str] = EVERYDAY, *, pushed: bool = True
) -> object:
    """One host and form; only `make test-all` runs what is not `pushed`."""
    marks = [pytest.mark.skipif(host_id not in everyday, reason="set TOOLCRIB_ALL_HOSTS=1")]
    marks += [] if pushed else [pytest.mark.exhaustive]
    return pytest.param(host_id, form, marks=marks, id=f"{host_id} {form}")


LEFT_OUT = ("codex",)  # it runs a hook only after the user has trusted it
HOOKED = [host.id for host in HOSTS if facts_of(host.id).hook and host.id not in LEFT_OUT]


@pytest.fixture
def encoder_exported() -> None:
    assert Path(os.environ["TOOLCRIB_MODELS"]).is_dir(), "the encoder is exported before the tests"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """house(host) is a home whose host names the stub; its backend is ended at the end.

    With `whole` the stub has all its tools.
    """
    made: list[HookedHousehold] = []

    def make(host_id: str, *, whole: bool = False) -> HookedHousehold:
        host = real_host(host_id)
        missing = "" if program(host).is_file() else "run: python tests/hosts/install.py " + host_id
        if missing and os.environ.get("CI"):
            pytest.fail(f"{host_id} cannot be run: {missing}")
        if missing:
            pytest.skip(missing)
        models = Path(os.environ["TOOLCRIB_MODELS"])
        made.append(HookedHousehold(host, tmp_path / "home", models, whole=whole))
        return made[-1]

    monkeypatch.delenv("TOOLCRIB_STANDALONE")
    (tmp_path / "home").mkdir()
    yield make
    for one in made:
        one.stop()
    shutil.rmtree(tmp_path / "home", ignore_errors=True)  # hosts keep their prompts in there


def asked() -> Script:
    """What the model wants, and the words to look for in the requests."""
    base = script(THROUGH)
    return Script(
        base.tool,
        base.arguments,
        query=base.query,
        through=True,
        watch=base.watch,
        answers=(HINT, WORDS),
    )


@pytest.mark.parametrize(
    ("host_id", "form"),
    [*(_marked(host_id, COMMAND) for host_id in HOOKED), _marked("claude-code", MCP)],
)
def test_a_prompts_first_request_holds_the_right_tool(house: Make, host_id: str, form: str) -> None:
    home = house(host_id)
    path = hook_state(home.places, facts_of(host_id)).path
    with FakeModel(asked()) as model:
        home.set_up(model.port)
        home.read()
        home.write(THROUGH)
        before = path.read_bytes() if path.is_file() else None
        home.install(form)
        home.warm()
        first = say(home, model, PROMPT)
        assert HINT in first.results, "no hint"
        assert "alpha_get" in first.named
        small = say(home, model, THANKS)
        assert HINT not in small.results, "it spoke on small talk"
        assert "alpha_get" not in small.named
        home.remove()
        left = path.read_bytes() if path.is_file() else b""
        assert b'"hooks"' not in left
        assert before is None or left, "the user's file is gone"
        assert before is not None or not path.exists(), "a file of ours is left"
        without = say(home, model, PROMPT)
        assert HINT not in without.results
        assert 0 < first.size - without.size < 4_000


def own_hook(home: HookedHousehold, mark: Path) -> Path:
    """A hook of the user's own that leaves a mark; the file that holds it."""
    hook = facts_of(home.host.id).hook
    assert hook is not None
    path = hook_state(home.places, facts_of(home.host.id)).path
    line = f"touch {mark}"
    tree: dict[str, Any]
    if hook.shape == "list":
        path = path.with_name("mine.json")
        tree = {"version": 1, "hooks": {hook.event: [{"type": "command", "bash": line}]}}
    else:
        tree = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        tree["hooks"] = {hook.event: [{"hooks": [{"type": "command", "command": line}]}]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("host_id", "form"),
    [_marked(host, COMMAND, pushed=host in SHAPES) for host in HOOKED if host != "opencode"],
)
def test_a_hook_of_the_users_own_runs_on_and_stays(house: Make, host_id: str, form: str) -> None:
    home = house(host_id)
    mark = home.home / "mine"
    with FakeModel(asked()) as model:
        home.set_up(model.port)
        home.read()
        home.write(THROUGH)
        say(home, model, THANKS)  # Gemini CLI brings its file up to date when it first runs
        path = own_hook(home, mark)
        before = path.read_bytes()
        home.install(form)
        home.warm()
        first = say(home, model, PROMPT)
        assert HINT in first.results, "no hint"
        assert mark.exists(), "the user's own hook did not run"
        home.remove()
        assert path.read_bytes() == before, "not as it was"
        mark.unlink()
        without = say(home, model, f"please {PROMPT}")
        assert HINT not in without.results
        assert mark.exists(), "the user's own hook went with ours"


@pytest.mark.parametrize(
    ("host_id", "form"), [_marked("codex", COMMAND), _marked("codex", MCP, pushed=False)]
)
def test_codex_runs_the_hook_once_the_user_has_trusted_it(
    house: Make, host_id: str, form: str
) -> None:
    home = house(host_id)
    path = hook_state(home.places, facts_of(host_id)).path
    with FakeModel(asked()) as model:
        home.set_up(model.port)
        home.read()
        home.write(THROUGH)
        home.install(form)
        home.warm()
        assert home.status().kind == WAITING
        assert HINT not in say(home, model, PROMPT).results, "Codex ran what nobody trusted"
        assert home.status().kind == WAITING, "running Codex is no trust"
        with CodexWindow(home.host, home.home, home.host.environ(model.port)) as window:
            [hook] = window.hooks()
            assert hook["trustStatus"] != "trusted"
            window.trust(hook)
        assert home.status().kind == ON
        first = say(home, model, f"please {PROMPT}")
        assert HINT in first.results, "no hint"
        assert "alpha_get" in first.named
        small = say(home, model, THANKS)
        assert HINT not in small.results, "it spoke on small talk"
        home.remove()
        assert not path.exists(), "a file of ours is left"
        assert HINT not in say(home, model, f"{PROMPT} again").results


@pytest.mark.parametrize(
    ("host_id", "form"), [_marked(facts.id, COMMAND, READERS) for facts in rules_hosts()]
)
def test_words_in_a_hosts_instructions_reach_its_model(
    house: Make, host_id: str, form: str
) -> None:
    home = house(host_id)
    path = rules_state(home.places, facts_of(host_id)).path
    with FakeModel(asked()) as model:
        home.set_up(model.port)
        home.read(encode=False)
        home.write(THROUGH)
        home.write_rules()
        assert WORDS in say(home, model, PROMPT).results, f"{path.name} is not read"
        home.remove_rules()
        assert not path.exists()
        assert WORDS not in say(home, model, PROMPT).results


@pytest.mark.parametrize(("host_id", "form"), [_marked("opencode", LIST)])
def test_a_list_is_narrowed_to_what_fits(house: Make, host_id: str, form: str) -> None:
    home = house(host_id, whole=True)
    path = hook_state(home.places, facts_of(host_id)).path
    wants = script(AS_IS)
    with FakeModel(wants) as model:
        home.set_up(model.port)
        home.read()
        home.pin("stub/res41_action")
        whole = say(home, model, PROMPT, wants=wants)
        assert shown_tools(whole) == set(ALL)
        own = len(whole.menu) - len(ALL)
        home.install(form)
        home.warm_list(PROMPT)

        first = say(home, model, PROMPT, wants=wants)
        assert {"alpha_get", "res41_action"} <= shown_tools(first)
        assert len(shown_tools(first)) <= MOST_LISTED + 1
        assert len(first.menu) - len(shown_tools(first)) == own, "the host's own tools stay"
        assert first.size < whole.size - 20_000
        assert model.conversation.asked == [DIRECT], "the tool was called"

        more = say(home, model, ANOTHER, "--continue", wants=wants)
        assert "alpha_get" in shown_tools(more), "the conversation has used it"
        assert len(shown_tools(more)) <= MOST_LISTED + 2
        assert "alpha_get" not in shown_tools(say(home, model, ANOTHER, wants=wants))
        assert shown_tools(say(home, model, THANKS, wants=wants)) == set(ALL)

        home.stop()
        (home.ctx.paths.home / "backend.off").touch()
        assert say(home, model, PROMPT, wants=wants).menu == whole.menu
        home.remove()  # what the host does then: in the test of its other form
        assert not path.exists()


def say(
    home: HookedHousehold, model: FakeModel, prompt: str, *more: str, wants: Script | None = None
) -> Request:
    """The first request to this prompt."""
    model.conversation = Conversation(wants or asked())
    ended = home.say(prompt, model, more)
    heard = model.conversation.requests
    assert heard, f"{ended.code} {ended.out[-800:]}{ended.err[-800:]}"
    return heard[0]
