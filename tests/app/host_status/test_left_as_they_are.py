"""Pruned mode: a server of which the profile keeps nothing back stays byte for byte as it is."""

import json

import pytest

from app.catalog.catalog import change_settings
from app.core.settings import GatewaySettings
from app.host_status.sizes import host_size
from app.host_status.status import host_status
from app.hosts.documents.values import read_values
from app.hosts.facts import host
from store import exports, servers
from store.connection import transaction
from store.serving import HELD_TEXTS

TEXT = """{
  // mine
  "mcpServers": {
    "one":   {"command": "one",   "args": [ "--a" ]},
    "two": {"command": "two"},
    "web": {"url": "https://h.example/mcp"},
  },
}
"""


@pytest.fixture
def file(world):
    path = world.write(".cursor/mcp.json", TEXT)
    world.learn()
    return path


def lines(data):
    return {line.strip().partition(":")[0]: line for line in data.decode().split("\n")}


def test_with_everything_on_nothing_is_written(world, file):
    made = world.plan("cursor", "pruned")
    assert made.empty and made.matched == 3 and made.secrets_to_store == ()


def test_only_the_server_with_a_tool_off_is_wrapped(world, file):
    world.off("two/alpha_get")
    world.export("cursor", "pruned")
    before, after = lines(TEXT.encode()), lines(file.read_bytes())
    for name in ('"one"', '"web"', "// mine"):
        assert after[name] == before[name]
    assert b'"--server", "two"' in b" ".join(file.read_bytes().split())
    assert b'"--server", "web"' not in b" ".join(file.read_bytes().split())


def test_a_server_goes_behind_the_gateway_and_back_with_its_ticks(world, file):
    world.off("two/alpha_get")
    world.export("cursor", "pruned")
    world.off("one/alpha_get")
    assert status(world).state == "changes"
    world.export("cursor", "pruned")
    world.on("one/alpha_get", "two/alpha_get")
    assert status(world).state == "changes"
    world.export("cursor", "pruned")
    assert file.read_bytes() == TEXT.encode()
    assert (status(world).state, status(world).mode) == ("in sync", "pruned")


def test_a_held_tool_or_text_a_condition_and_a_rule_for_calls_need_the_gateway(world, file):
    def wrapped():
        made = world.plan("cursor", "pruned")
        return [change.partition(":")[0] for change in made.changes]

    assert wrapped() == []
    change_settings(world.db, "default", {"preconditions": {"one/*": ["milestone(built)"]}})
    assert wrapped() == ["one"]
    change_settings(world.db, "default", {"preconditions": {}, "scopes": {"beta_*": ["user:a"]}})
    assert wrapped() == ["one", "two", "web"]
    change_settings(world.db, "default", {"scopes": {}})
    two = next(row for row in servers.all_servers(world.db) if row.name == "two")
    finding = {"kind": "instructions", "name": "", "severity": "block", "decided": ""}
    with transaction(world.db):
        taken = json.dumps({HELD_TEXTS: [finding]})
        world.db.execute("UPDATE servers SET taken_with = ? WHERE id = ?", (taken, two.id))
    assert wrapped() == ["two"]
    with transaction(world.db):
        world.db.execute("UPDATE servers SET taken_with = '{}' WHERE id = ?", (two.id,))
    change_settings(world.db, "default", {"gateway": GatewaySettings(secrets_out="refuse")})
    assert wrapped() == ["one", "two", "web"]


def test_an_older_wrapper_without_a_record_goes_where_nothing_is_off(world, file):
    world.narrow()
    world.export("cursor", "pruned")
    world.learn()  # which knows the entries as they are now
    world.db.execute("DELETE FROM exports")
    world.on("one/*", "two/*", "web/*")
    made = world.plan("cursor", "pruned")
    after = read_values(made.files[0].after, "jsonc").value["mcpServers"]
    assert (after["one"]["command"], after["one"]["args"]) == ("one", ["--a"])
    assert "--server" in after["web"]["args"]  # its URL is known to the gateway alone


def test_what_the_model_gets_directly_is_what_has_no_gateway(world, file):
    world.off("two/alpha_get")
    world.export("cursor", "pruned")
    size = host_size(status(world), world.catalog)
    assert {row.server.name for row in size.sent.direct} == {"one", "web"}
    assert size.sent.count == 11


def status(world):
    return host_status(
        world.places,
        host("cursor"),
        catalog=world.catalog,
        gateway_path=world.gateway,
        history=exports.for_host(world.db, "cursor"),
    )
