"""Servers that could be installed: named by the team's gateway and on a member's machine, marked,
from the lists of whoever runs the team server."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from app.catalog.catalog import load_catalog
from app.catalog.conditions import State
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.settings import Settings
from app.encoder.onnx import Encoder
from app.encoder.weights import ensure_model
from app.gateway.menu.search import ToolSearch
from app.market import sources
from app.market.details import details
from app.market.entry import read_entry
from app.market.index import prepare
from app.market.records import PUBLISHER_META, row_of
from app.market.seed import SEED_NAME, SEED_URL
from app.market.suggestion import TEAM_HEAD
from app.market.sync import sync
from app.registry import installing
from app.team import membership
from app.team_server.configuration import from_environ
from app.team_server.sealing import new_key
from store import market, servers
from store.connection import transaction
from store.market import MarketSource
from store.team import profiles
from store.team.connecting import as_operator
from tests.app.market.test_suggestion import Loaded
from tests.fakes.team_kit import cluster, fresh_database
from tests.fakes.team_replica import environment, program, replica
from tests.fakes.web_client import WebClient

pytestmark = pytest.mark.timeout(180)
QUERY = "weather forecast for tomorrow"
NAME = "com.example/sky"
LINE = f"{TEAM_HEAD}\n- {NAME}: get_weather_forecast"


@dataclass(frozen=True)
class World:
    url: str
    environ: dict[str, str]
    tokens: dict[str, str]
    operator: AppContext

    def search(self, profile: str, member: str = "mia", query: str = QUERY) -> str:
        web = WebClient(int(self.url.rpartition(":")[2]), self.tokens[member], f"/mcp/{profile}")
        given = {"name": "search_tools", "arguments": {"query": query}}
        return web.ask("tools/call", given).text

    def listed(self, path: str = "/v0.1/servers") -> WebClient:
        return WebClient(int(self.url.rpartition(":")[2]), self.tokens["mia"], path)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.load(ensure_model(Paths(Path("/nowhere"), Path(os.environ["TOOLCRIB_MODELS"]))))


@pytest.fixture(scope="module")
def world(no_process_left_behind: None, encoder: Encoder) -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="tcl"))
    operator = AppContext(Paths(folder / "home", folder / "models"), Settings())
    operator.paths.create()
    with closing(operator.open_store()) as db:
        list_servers(db)
        prepare(db, encoder)
    trial = cluster(folder / "pg")
    try:
        with fresh_database(trial) as dsn:
            given = environment(dsn, new_key(), TOOLCRIB_HOME=str(operator.paths.home))
            tokens = {}
            for name, role in (("ed", "editor"), ("mia", "member")):
                program(given, "user", "add", name, "--organisation", "acme", "--role", role)
                tokens[name] = program(given, "token", "issue", name, "--organisation", "acme")
            with as_operator(dsn) as db:
                for name, named in (("named", True), ("silent", False)):
                    settings = {"gateway": {"marketplace": named}}
                    profiles.save(db, 1, name, settings, [])
            with replica(given, folder / "err"):
                yield World(given["TOOLCRIB_TEAM_URL"], given, tokens, operator)
            assert not (folder / "err").read_text()
    finally:
        trial.stop()
        shutil.rmtree(folder)


def list_servers(db: apsw.Connection) -> None:
    """What the operator has synchronised: one for the weather, one with an address inside."""
    package = {"registryType": "npm", "identifier": "sky", "version": "1.0.0"}
    inside = {"type": "streamable-http", "url": "http://127.0.0.1:9/mcp"}
    named = {PUBLISHER_META: {"tools": [{"name": "get_weather_forecast"}]}}
    entries = [
        {"name": NAME, "description": "Weather", "packages": [package], "_meta": named},
        {"name": "com.example/inside", "description": "Notes", "remotes": [inside]},
    ]
    with transaction(db):
        market.add_source(db, MarketSource(0, "https://registry.example", "official-like"))
        source = market.sources(db)[-1]
        market.save(db, source, [row_of(read_entry(raw, {"status": "active"})) for raw in entries])
        market.add_source(db, MarketSource(0, SEED_URL, SEED_NAME))
        shipped = {"name": "npm/own", "description": "Ships", "version": "1", "packages": [package]}
        row = row_of(read_entry(shipped, {"status": "active"}))
        market.save(db, market.sources(db)[-1], [row])  # members have it


@pytest.fixture
def member(tmp_path: Path, world: World, encoder: Encoder) -> Iterator[AppContext]:
    models = Path(os.environ["TOOLCRIB_MODELS"])
    ctx = AppContext(Paths(tmp_path / "member", models), Settings())
    ctx.paths.create()
    with closing(ctx.open_store()) as db:
        words = ("token", "issue", "mia", "--organisation", "acme")
        membership.join(ctx, db, world.url, program(world.environ, *words))  # leaving ends it
        membership.synchronise(ctx, db)
    yield ctx


def test_the_gateway_names_what_could_be_installed_where_an_editor_allows_it(world: World) -> None:
    answer = world.search("named")
    assert answer.startswith("No tool fits.") and answer.endswith(LINE)
    assert "ask an editor of the team" in TEAM_HEAD and "Not installed" in TEAM_HEAD
    assert NAME not in world.search("silent") and NAME not in world.search("named", query="thanks")


def test_what_is_only_named_cannot_be_called(world: World) -> None:
    web = WebClient(int(world.url.rpartition(":")[2]), world.tokens["mia"], "/mcp/named")
    for tool in ("sky/get_weather_forecast", f"{NAME}/get_weather_forecast"):
        given = {"name": "call_tool", "arguments": {"name": tool}}
        assert "there is no such tool" in web.ask("tools/call", given).text


def test_members_get_what_was_synchronised_and_strangers_nothing(world: World) -> None:
    page = world.listed("/v0.1/servers?limit=100&version=latest").send("GET").last
    assert [one["server"]["name"] for one in page["servers"]] == [NAME, "com.example/inside"]
    assert page["metadata"] == {}
    assert world.listed("/v0.1/servers?cursor=-1").send("GET").status == 400
    assert world.listed("/v0.1/servers").send("GET", Authorization="Bearer no").status == 401
    assert world.listed("/v0.1/servers").send("PUT", b"{}").status == 403


def test_a_members_machine_has_the_teams_list_as_a_source_until_it_leaves(
    world: World, member: AppContext, encoder: Encoder
) -> None:
    with closing(member.open_store()) as db:
        source = sources.named(db, "acme")
        assert (source.url, source.synced_at) == (world.url, 0.0)
        sync(member, db, source)
        prepare(db, encoder)
        known = details(db, installing.listed_server(db, NAME), load_catalog(db))
        assert known.source.name == "acme" and "Listed by acme" in known.proof
        assert installing.current(member, known).name == NAME  # of no one else it is asked again
        inside = details(db, installing.listed_server(db, "com.example/inside"), load_catalog(db))
        assert all(way.problem for way in inside.ways)  # the team's network is not the list's
        assert [server.name for server in servers.all_servers(db)] == []
        membership.leave(member, db)
        assert all(one.name != "acme" for one in sources.all_sources(db))
        assert not market.by_name(db, NAME)


def test_a_local_search_in_a_team_profile_says_the_same(
    world: World, member: AppContext, encoder: Encoder
) -> None:
    with closing(member.open_store()) as db:
        sync(member, db, sources.named(db, "acme"))
        prepare(db, encoder)
    finder = ToolSearch(Loaded(encoder), "named@acme", str(member.paths.database))
    try:
        answer = finder.search(
            {"query": QUERY}, State(), generation=1, tokens=500, level="none", note=""
        )
    finally:
        finder.close()
    assert answer.text.endswith(LINE)


def test_an_operator_who_allows_no_list_names_none(world: World, tmp_path: Path) -> None:
    other = environment(world.environ["TOOLCRIB_TEAM_DATABASE"], world.environ["TOOLCRIB_TEAM_KEY"])
    given = {**world.environ, **other, "TOOLCRIB_TEAM_MARKET": "off"}
    with replica(given, tmp_path / "err"):
        silent = World(given["TOOLCRIB_TEAM_URL"], given, world.tokens, world.operator)
        assert NAME not in silent.search("named")
        assert silent.listed().send("GET").last == {"servers": [], "metadata": {}}
        assert silent.listed("/v1/me").send("GET").last["lists"] is False
    with pytest.raises(ToolcribError, match="TOOLCRIB_TEAM_MARKET is neither on nor off"):
        from_environ({**given, "TOOLCRIB_TEAM_MARKET": "maybe"})
