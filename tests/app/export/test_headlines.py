"""Before, after and the words of a plan are those of the files."""

import json

import pytest

from app.host_status.overview import prepare, survey
from app.host_status.sizes import host_sizes
from app.host_status.status import OUTSIDE
from app.policy.profiles import create
from app.tokens.menu import menu_tokens
from store.records import AS_IS, THROUGH

SEVEN = {f"server{n}": {"command": f"s{n}"} for n in range(7)}


@pytest.fixture
def cursor(world):
    file = world.write(".cursor/mcp.json", {"mcpServers": SEVEN})
    world.learn()
    return file


def size_of(world):
    (size,) = host_sizes(survey(world.db, world.places, world.catalog))
    return size


def test_a_host_that_goes_through_toolcrib_begins_at_the_menu(world, cursor):
    world.export("cursor", THROUGH)
    menu = menu_tokens(world.catalog)
    made = world.plan("cursor", AS_IS)
    assert (made.tokens_before, made.tokens_after) == (menu, 2_800)
    assert size_of(world).sent.tokens == menu
    again = world.plan("cursor", THROUGH)
    assert (again.tokens_before, again.tokens_after) == (menu, menu)


def test_servers_that_come_back_are_not_said_to_stay(world, cursor):
    world.export("cursor", THROUGH)
    cursor.write_text(json.dumps({"mcpServers": {"foreign": {"command": "f"}}}))
    world.learn()
    made = world.plan("cursor", THROUGH)
    (file,) = made.files
    after = set(json.loads(file.after)["mcpServers"])
    assert set(SEVEN) <= after
    assert not any("server0" in text and "as they are" in text for text in made.warnings)
    assert (
        "server0, server1, server2, server3, server4, server5 and server6 are not in the catalog;"
        " they come back as they were before Toolcrib."
    ) in made.warnings
    assert "server0: back in the file" in made.changes
    assert set(made.unread) >= set(SEVEN)
    assert made.tokens_before == size_of(world).sent.tokens == 400
    (status,) = [s for s in survey(world.db, world.places, world.catalog) if s.host.id == "cursor"]
    assert status.state == OUTSIDE


def test_what_a_host_gets_now_is_as_its_own_profile_sees_it(world, cursor):
    world.export("cursor", "pruned")
    create(world.db, "work")
    world.off("server0/*")
    world.export("cursor", "pruned")
    catalog = world.catalog
    made = prepare(world.db, world.places, catalog, host_id="cursor", mode="pruned")
    assert made.tokens_before == size_of(world).sent.tokens == 2_400


def test_lists_of_a_file_count_as_the_file_has_them(world):
    """A user's own lists, and one that was written before its server was another."""
    servers = {
        "one": {"command": "s1", "excludeTools": ["beta_delete"]},
        "two": {"command": "s2", "includeTools": ["of_another_server"]},
        "again": {"command": "s2"},
    }
    world.write(".gemini/settings.json", {"mcpServers": servers})
    world.learn()
    every = {row.server.name: 0 for row in world.catalog.tools}
    for row in world.catalog.tools:
        every[row.server.name] += row.cost if row.tool.name != "beta_delete" else 0
    (hidden,) = {row.cost for row in world.catalog.tools if row.tool.name == "beta_delete"}
    assert size_of(world).sent.tokens == sum(every.values()) + hidden * (len(every) - 1)
    assert world.plan("gemini-cli", AS_IS).tokens_before == size_of(world).sent.tokens
