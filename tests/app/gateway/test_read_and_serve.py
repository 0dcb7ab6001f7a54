"""What a scan reads of a difficult server is what the gateway serves of it."""

import sys
from pathlib import Path

import pytest
from raw_host import text

from app.core.context import AppContext
from app.core.paths import Paths
from app.core.settings import Settings
from app.hosts.launch import STDIO, LaunchSpec
from app.indexing.reading import Limits
from app.registry.probe import ProbeOptions, probe
from app.registry.register import Target
from app.registry.scan import ScanOptions, scan
from app.secrets.secret_store import install_key
from store import profiles, servers, tools
from store.connection import transaction
from store.records import EntryRecord

pytestmark = pytest.mark.usefixtures("encoderless")
FAKES = Path(__file__).parents[2] / "fakes"
NAMES = ["tool_0", "late_tool", *(f"tool_{number}" for number in range(1, 7))]


@pytest.fixture
def scanned(home):
    """scanned(launch): the names that a scan stored, in a profile that takes new tools at once."""

    def read(launch):
        home.mkdir()
        ctx = AppContext(Paths(home, home / "no-models"), Settings())
        db = ctx.open_store()
        with transaction(db):
            entry = EntryRecord("manual", "manual", "", "difficult")
            spec, _ = launch.to_spec(install_key(ctx.paths))
            servers.place(db, entry, spec, name="difficult", trusted=True)
            (profile,) = profiles.all_profiles(db)
            profiles.save_settings(db, profile.id, {"new_tools": "on"})
        (server,) = servers.all_servers(db)
        limits = Limits(quiet_seconds=8.0, total_seconds=30.0, grace_seconds=0.3)
        options = ScanOptions(probe=ProbeOptions(limits), prepare_encoder=False)
        scan(ctx, [Target(server.id, "difficult", launch, "legacy")], options)
        names = [tool.name for tool in tools.tools(db, server.id)]
        db.close()
        return names

    return read


def test_a_slow_stateless_server_with_pages_and_late_tools_is_the_same_both_ways(scanned, gateway):
    launch = LaunchSpec(STDIO, sys.executable, ("-S", str(FAKES / "difficult_server.py")))
    assert scanned(launch) == NAMES
    host = gateway("--server", "difficult")
    host.initialize()
    assert [tool["name"] for tool in host.tools()] == NAMES  # as stored
    assert text(host.call("late_tool")) == "late_tool"
    assert [tool["name"] for tool in host.tools()] == NAMES  # as the running server says
    beside = gateway()
    beside.initialize()
    assert text(beside.run("difficult/late_tool")) == "late_tool"


def test_a_list_that_goes_round_in_circles_ends_at_the_same_place_both_ways(stocked, gateway):
    stocked({"probe": "ok"})
    server = FAKES / "fake_server.py"
    launch = LaunchSpec(STDIO, sys.executable, ("-S", str(server)), env={"FAKE_MODE": "loop"})
    assert [tool.name for tool in probe(launch).tools] == ["looped", "looped"]
    command = [sys.executable, "-S", str(server)]
    host = gateway("--server", "loop", "--", "env", "FAKE_MODE=loop", *command)
    host.initialize()
    assert [tool["name"] for tool in host.tools()] == ["looped", "looped"]
