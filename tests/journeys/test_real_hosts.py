"""Real hosts start from the file that Toolcrib wrote; a model that is none says what reached it.

The everyday hosts always run; TOOLCRIB_ALL_HOSTS=1 adds the others (see tests/hosts/install.py).
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))
from judge.fake_model import FakeModel
from judge.journey import ALL, KEPT, Household, Outcome, script, travel
from judge.real import HOSTS, RealHost, chosen, real_host
from judge.trial import program, run_program

from app.hosts.facts import host as facts_of
from store.records import AS_IS, NATIVE, PRUNED, THROUGH

pytestmark = [pytest.mark.hosts, pytest.mark.timeout(400)]

EVERYDAY = {host.id for host in chosen(os.environ)}
Trip = Callable[..., Outcome]


def _marked(host_id: str) -> object:
    left_out = pytest.mark.skipif(host_id not in EVERYDAY, reason="set TOOLCRIB_ALL_HOSTS=1")
    return pytest.param(host_id, marks=left_out)


EACH_HOST = pytest.mark.parametrize("host_id", [_marked(host.id) for host in HOSTS])
PRUNING_HOST = pytest.mark.parametrize(
    "host_id", [_marked(host.id) for host in HOSTS if facts_of(host.id).native]
)
LISTING = pytest.mark.parametrize(
    "host_id", [_marked(host.id) for host in HOSTS if host.list_command]
)


@pytest.fixture
def installed(host_id: str) -> RealHost:
    """The host; without its program the test skips, in CI it fails."""
    host = real_host(host_id)
    missing = "" if program(host).is_file() else "run: python tests/hosts/install.py " + host_id
    missing = missing if shutil.which("node") else "Node is not installed"
    if missing and os.environ.get("CI"):
        pytest.fail(f"{host_id} cannot be run: {missing}")
    if missing:
        pytest.skip(missing)
    return host


@pytest.fixture(scope="session")
def trip(tmp_path_factory: pytest.TempPathFactory) -> Trip:
    """Runs a host once in a home of its own; the same trip is made only once."""

    @cache
    def once(host_id: str, mode: str, variant: str = "", kept: tuple[str, ...] = KEPT) -> Outcome:
        home = tmp_path_factory.mktemp("home")
        try:
            return travel(real_host(host_id), home, mode=mode, variant=variant, kept=kept)
        finally:
            shutil.rmtree(home, ignore_errors=True)  # hosts keep their prompts in there

    return once


def narrow(host_id: str) -> str:
    """How this host's menu is narrowed: by itself where it can."""
    return PRUNED if facts_of(host_id).native is None else NATIVE


def said(outcome: Outcome) -> str:
    """What to look at when a host did not do as expected."""
    ended = outcome.ended
    return (
        f"{outcome.asked} {outcome.called} code {ended.code}\n{ended.out[-800:]}{ended.err[-800:]}"
    )


@EACH_HOST
def test_exactly_the_tools_that_are_on_reach_the_model(installed: RealHost, trip: Trip) -> None:
    before = trip(installed.id, AS_IS)
    after = trip(installed.id, narrow(installed.id))
    assert before.named == set(ALL), said(before)
    assert after.named == set(KEPT), said(after)
    assert after.answered, said(after)
    assert after.called == ("alpha_get",)
    assert after.loaded < before.loaded


@EACH_HOST
@pytest.mark.parametrize("mode", [AS_IS, "narrow", THROUGH])
def test_the_number_of_every_surface_is_what_the_model_was_given(
    installed: RealHost, mode: str, trip: Trip
) -> None:
    mode = narrow(installed.id) if mode == "narrow" else mode
    outcome = trip(installed.id, mode)
    size = outcome.promised
    assert outcome.size and size is not None, said(outcome)
    menu = len(outcome.first) if mode == THROUGH else 0
    named = {row.tool.name for row in size.sent.tools}
    schemas = {row.tool.name for row in size.sent.tools if row.tool.id not in size.sent.deferred}
    assert size.mode == mode
    assert size.sent.count == len(named) + menu
    assert outcome.shown == schemas, said(outcome)
    assert outcome.named == named, said(outcome)


@EACH_HOST
def test_a_tool_is_found_and_called_through_toolcrib(installed: RealHost, trip: Trip) -> None:
    before = trip(installed.id, AS_IS)
    after = trip(installed.id, THROUGH)
    assert after.offered == {"search_tools", "call_tool"}, said(after)
    assert after.named == set(), "the menu names tools of the server behind it"
    assert after.asked[-2:] == ("search_tools", "call_tool")
    assert after.answered, said(after)
    assert after.called == ("alpha_get",)
    assert not after.late, "a tool that nobody has seen yet was let in"
    if before.menu > len(ALL):  # a host that loads schemas on demand has little to save
        assert after.size < before.size


@pytest.mark.parametrize("host_id", [_marked("claude-code")])
def test_the_menu_stands_in_the_first_request_of_a_host_that_defers(
    installed: RealHost, trip: Trip
) -> None:
    after = trip(installed.id, THROUGH)
    assert after.first == {"search_tools", "call_tool"}, said(after)
    assert after.asked == ("search_tools", "call_tool"), "a turn went on finding the menu"


@pytest.mark.parametrize("host_id", [_marked("claude-code")])
def test_a_pinned_tool_stands_in_the_first_request_of_a_host_that_defers(
    installed: RealHost, tmp_path: Path
) -> None:
    house = Household(installed, tmp_path)
    with FakeModel(script(PRUNED), delay=installed.delay) as model:  # it wants the tool itself
        house.set_up(model.port)
        house.export(THROUGH)
        house.pin("stub/alpha_get")
        after = house.talk(model, mode=THROUGH)
    assert after.first == {"search_tools", "call_tool"}, said(after)
    assert after.shown == {"alpha_get"}, said(after)
    assert after.asked == ("direct",), "a turn went on finding the tool"
    assert after.called == ("alpha_get",)


@PRUNING_HOST
def test_a_server_without_any_tool_on_stays_away_from_the_model(
    installed: RealHost, trip: Trip
) -> None:
    after = trip(installed.id, NATIVE, kept=())
    assert after.size, said(after)
    assert after.named == set(), said(after)
    assert after.called == ()


@pytest.mark.parametrize("host_id", [_marked("codex"), _marked("cline")])
def test_the_gateway_narrows_one_server_for_a_host(installed: RealHost, trip: Trip) -> None:
    after = trip(installed.id, PRUNED)
    assert after.named == set(KEPT), said(after)
    assert after.called == ("alpha_get",)
    assert not after.late


@pytest.mark.parametrize("host_id", [_marked("codex")])
def test_the_written_file_leads_to_a_toolcrib_folder_that_was_moved(
    installed: RealHost, tmp_path: Path
) -> None:
    house = Household(installed, tmp_path, folder="elsewhere")
    with FakeModel(script(THROUGH)) as model:
        house.set_up(model.port)
        house.export(THROUGH)
        outcome = house.talk(model, mode=THROUGH)
    assert outcome.answered, said(outcome)


@pytest.mark.parametrize("host_id", [_marked("claude-code")])
def test_deny_rules_take_schemas_out_where_the_host_sends_them_all(
    installed: RealHost, trip: Trip
) -> None:
    before = trip(installed.id, AS_IS, "without tool search")
    after = trip(installed.id, NATIVE, "without tool search")
    assert after.named == set(KEPT), said(after)
    assert before.menu - after.menu == len(ALL) - len(KEPT)
    assert after.size < 0.75 * before.size


@LISTING
@pytest.mark.parametrize("mode", [NATIVE, THROUGH])
def test_the_hosts_own_listing_reads_the_written_file(
    installed: RealHost, mode: str, tmp_path: Path
) -> None:
    house = Household(installed, tmp_path)
    house.set_up(port=9)
    house.export(mode)
    ended = run_program(installed, tmp_path, installed.list_command, environ=installed.environ(9))
    assert ended.code == 0, ended.err
    assert _listed(installed.id, ended.out) == {"toolcrib" if mode == THROUGH else "stub"}
    assert not house.log.exists(), "the listing started the server"


def _listed(host_id: str, text: str) -> set[str]:
    """The servers that a host's own listing names."""
    if host_id == "codex":
        return {entry["name"] for entry in json.loads(text) if entry["enabled"]}
    if host_id == "opencode":
        return set(json.loads(text)["mcp"])
    return {name for name in ("stub", "toolcrib") if f"{name} (local)" in text}


@pytest.mark.parametrize("host_id", [_marked("claude-code")])
def test_taking_the_export_back_keeps_what_the_host_wrote_meanwhile(
    installed: RealHost, tmp_path: Path
) -> None:
    house = Household(installed, tmp_path)
    with FakeModel(script(THROUGH)) as model:
        house.set_up(model.port)
        [record] = house.export(THROUGH)
        outcome = house.talk(model, mode=THROUGH)
    assert outcome.answered, said(outcome)
    original, written = _json(record.backup), _json(record.file)
    assert written.keys() > original.keys(), "the host wrote nothing of its own"
    house.export(AS_IS)
    assert _json(record.file) == written | {"mcpServers": original["mcpServers"]}


def _json(path: str) -> dict[str, object]:
    value = json.loads(Path(path).read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value
