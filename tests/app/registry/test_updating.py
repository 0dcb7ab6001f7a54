"""Updates of listed servers: offered, read in a throwaway folder, taken, taken back."""

import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fakes"))

from npx_shim import Packages, tool

from app.catalog.catalog import load_catalog, trust_server
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.hosts.launch import LaunchSpec
from app.market import sources
from app.market.entry import read_entry
from app.market.launch import choices, launch_of
from app.market.records import row_of
from app.market.versions import is_later
from app.registry import updating
from app.registry.importing import edit_server
from app.registry.installing import install
from app.registry.register import stored_launch, targets
from app.registry.scan import ScanOptions, scan
from app.secrets.secret_store import SecretStore
from store import market, servers, teams
from store.connection import transaction
from store.market import MarketServer, MarketSource

SECRET = "sk-1234567890abcdefNeverShown"
TOKEN = {"name": "SKY_TOKEN", "isRequired": True, "isSecret": True}
PLACE = {"type": "named", "name": "--place", "valueHint": "place", "isRequired": True}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    packages = Packages(tmp_path / "packages")
    monkeypatch.setenv("PATH", packages.path)
    packages.publish("sky", "1.0.0", tool("look", "Look at the sky"), tool("rain", "Is it wet?"))
    packages.publish(
        "sky", "1.1.0", tool("look", "Look at the whole sky, at night as well"),
        tool("snow", "Measure the snow"),
    )  # fmt: skip
    return packages


def listing(db: apsw.Connection, version: str, **fields: Any) -> MarketSource:
    package = {"registryType": "npm", "identifier": "sky", "version": version,
               "environmentVariables": [TOKEN], "packageArguments": [PLACE], **fields}  # fmt: skip
    raw = {"name": "io.github.them/sky", "version": version, "packages": [package]}
    with transaction(db):
        if not any(one.name == "team" for one in market.sources(db)):
            market.add_source(db, MarketSource(0, "https://team.example", "team"))
        source = next(one for one in market.sources(db) if one.name == "team")
        market.save(db, source, [row_of(read_entry(raw))])
    return source


def installed(ctx: AppContext, db: apsw.Connection) -> int:
    source = listing(db, "1.0.0")
    entry = updating.entry_of(market.by_name(db, "io.github.them/sky")[0])
    way, values = choices(entry)[0], {"SKY_TOKEN": SECRET, "place": "here"}
    launch = launch_of(entry, way, values)
    done = install(ctx, db, entry, way, launch, source=source, values=values)
    (server_id,) = done.registered.server_ids
    read(ctx, db)
    trust_server(db, server_id, 1.0)
    return server_id


def read(ctx: AppContext, db: apsw.Connection) -> None:
    report = scan(ctx, targets(ctx, db), ScanOptions(prepare_encoder=False))
    assert [one.status for one in report.servers] == ["read"]


def test_a_later_version_is_read_compared_taken_and_taken_back(
    ctx: AppContext, db: apsw.Connection, packages: Packages
) -> None:
    server_id = installed(ctx, db)
    assert updating.newer(db) == {}
    with pytest.raises(ToolcribError, match=r"1\.0\.0 is the latest version"):
        updating.offer(ctx, db, "sky")
    listing(db, "1.1.0")
    assert updating.newer(db) == {"sky": "1.1.0"}
    wanted = updating.offer(ctx, db, "sky")
    assert wanted.lacking == () and dict(wanted.values)["SKY_TOKEN"] == SECRET
    change = updating.read(ctx, db, wanted)
    assert [name for name, _cost in change.added] == ["snow"] and change.removed == ("rain",)
    (look,) = change.changed
    assert look.parts[0].after == "Look at the whole sky, at night as well"
    assert look.after > look.before and change.text.startswith("Tools: 1 new, 1 gone, 1 with")
    folder = packages.lines("started")[-1]
    assert "toolcrib-new-" in folder and not Path(folder).exists()  # it was thrown away
    record = servers.by_name(db, "sky")
    assert record is not None and record.spec.args[1] == "sky@1.0.0"  # nothing changed yet

    updating.take(ctx, db, wanted)
    read(ctx, db)
    record = servers.by_name(db, "sky")
    assert record is not None and record.id == server_id and record.spec.args[1] == "sky@1.1.0"
    assert packages.lines("keys")[-1] == SECRET
    held = {t.tool.name: t.held for t in load_catalog(db).tools if not t.tool.gone}
    assert held["look"] == "changed" and held["snow"]  # both wait in Review
    trust_server(db, server_id, 2.0)

    assert updating.back(ctx, db, "sky") == "1.0.0"
    read(ctx, db)
    record = servers.by_name(db, "sky")
    assert record is not None and record.spec.args[1] == "sky@1.0.0"
    assert packages.lines("keys")[-1] == SECRET  # the values of before are kept
    shown = {t.tool.name for t in load_catalog(db).shown}
    assert shown == {"look", "rain"}  # as they were approved
    with pytest.raises(ToolcribError, match="No earlier version"):
        updating.back(ctx, db, "sky")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert SECRET.encode() not in ctx.paths.database.read_bytes()


def test_a_version_that_cannot_be_read_changes_nothing(
    ctx: AppContext, db: apsw.Connection, packages: Packages
) -> None:
    installed(ctx, db)
    listing(db, "1.2.0")  # listed, and not published
    with pytest.raises(ToolcribError, match=r"1\.2\.0 could not be read") as caught:
        updating.read(ctx, db, updating.offer(ctx, db, "sky"))
    assert "stays at 1.0.0" in caught.value.hint
    record = servers.by_name(db, "sky")
    assert record is not None and record.spec.args[1] == "sky@1.0.0"


def test_a_new_required_value_is_asked_for_and_a_hostile_version_is_refused(
    ctx: AppContext, db: apsw.Connection, packages: Packages
) -> None:
    installed(ctx, db)
    listing(db, "1.1.0", environmentVariables=[TOKEN, {"name": "REGION", "isRequired": True}])
    wanted = updating.offer(ctx, db, "sky")
    assert [field.key for field in wanted.lacking] == ["REGION"]
    with pytest.raises(ToolcribError, match="needs a value for REGION"):
        updating.read(ctx, db, wanted)
    assert updating.read(ctx, db, wanted.with_values({"REGION": "eu"})).after
    listing(db, "1.1.0", environmentVariables=[{"name": "LD_PRELOAD", "value": "/tmp/x.so"}])
    with pytest.raises(ToolcribError, match="can change what runs"):
        updating.offer(ctx, db, "sky")
    listing(db, "1.1.0", identifier="other-package")
    with pytest.raises(ToolcribError, match="no longer that package"):
        updating.offer(ctx, db, "sky")


def test_a_launch_that_was_edited_gives_no_secret_and_it_is_asked_for(
    ctx: AppContext, db: apsw.Connection, packages: Packages
) -> None:
    installed(ctx, db)
    record = servers.by_name(db, "sky")
    assert record is not None
    launch = stored_launch(record, SecretStore.open(ctx.paths))
    assert launch is not None
    edit_server(ctx, db, record, "sky", type(launch)("stdio", "npx", launch.args[:2]))
    listing(db, "1.1.0")
    assert [f.key for f in updating.offer(ctx, db, "sky").lacking] == ["SKY_TOKEN"]


def test_removing_the_server_forgets_the_secret_of_the_version_before(
    ctx: AppContext, db: apsw.Connection, packages: Packages
) -> None:
    from app.registry.own_servers import remove_own
    from app.registry.register import forget_secrets

    installed(ctx, db)
    listing(db, "1.1.0")
    wanted = updating.offer(ctx, db, "sky").with_values({"SKY_TOKEN": "another-key-1234567890"})
    updating.take(ctx, db, wanted)
    assert SECRET in ctx.paths.secrets.read_text()
    record = servers.by_name(db, "sky")
    assert record is not None
    before = servers.launches(db)
    remove_own(db, [record])
    forget_secrets(ctx, before, servers.launches(db))
    assert SECRET not in ctx.paths.secrets.read_text()


def test_an_update_from_a_teams_list_stays_out_of_the_own_network_as_the_install_does(
    ctx: AppContext, db: apsw.Connection
) -> None:
    def listed(version: str, url: str) -> MarketServer:
        remotes = [{"type": "streamable-http", "url": url}]
        raw = {"name": "io.github.them/sky", "version": version, "remotes": remotes}
        return row_of(read_entry(raw))

    with transaction(db):
        team = teams.join(db, "https://team.example", "acme", "mia", "member", 1.0)
    sources.keep_team(ctx, db, team, "team-token-1234567890")
    source = sources.named(db, "acme")
    with transaction(db):
        market.save(db, source, [listed("1.0.0", "https://sky.example/mcp")])
    entry = updating.entry_of(market.by_name(db, "io.github.them/sky")[0])
    launch = LaunchSpec("http", url="https://sky.example/mcp")
    install(ctx, db, entry, choices(entry)[0], launch, source=source, values={})
    with transaction(db):
        market.save(db, source, [listed("1.0.1", "https://sky.example/new")])
    assert not updating.offer(ctx, db, "sky").private  # nor is a bundle fetched from there
    with transaction(db):
        market.save(db, source, [listed("1.1.0", "http://10.0.0.7/mcp")])
    with pytest.raises(ToolcribError, match="address of this machine or its network"):
        updating.offer(ctx, db, "sky")
    with transaction(db):
        teams.forget(db, team.id)  # from now on it is a list of the user's own
    assert updating.offer(ctx, db, "sky").private


@pytest.mark.parametrize(
    ("version", "than", "later"),
    [
        ("1.0.1", "1.0.0", True), ("1.10.0", "1.9.0", True), ("1.0.0", "1.0.0", False),
        ("1.0.0", "1.0.0-rc.1", True), ("1.0.0-rc.2", "1.0.0-rc.1", True),
        ("2026.8.31", "2026.10.1", False), ("v1.2", "1.1", True), ("1.0", "1.0.0", False),
        ("1.0.0+5", "1.0.0+4", False),
    ],
)  # fmt: skip
def test_versions_are_compared_by_their_numbers(version: str, than: str, later: bool) -> None:
    assert is_later(version, than) is later
