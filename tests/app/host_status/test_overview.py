"""Hosts of several profiles, looked at together."""

import pytest

from app.catalog.catalog import load_catalog, match_tools, set_on
from app.export.apply import apply
from app.host_status.overview import prepare, survey
from app.host_status.sizes import host_sizes
from app.policy import profiles


@pytest.fixture
def work(world, db):
    """Cursor gets the profile work, in which one tool is off."""
    world.write(".cursor/mcp.json", {"mcpServers": {"stub": {"command": "x"}}})
    world.learn()
    profiles.create(db, "work", "default")
    tick(db, "work", "stub/alpha_get")
    seen = load_catalog(db, "work")
    apply(prepare(db, world.places, seen, host_id="cursor", mode="pruned"), world.ctx, db)
    return seen


def tick(db, profile, tool):
    ids = [row.tool.id for row in match_tools(load_catalog(db, profile), [tool])]
    set_on(db, profile, ids, False)


def cursor(world, db):
    found = survey(db, world.places, world.catalog)
    return next(status for status in found if status.host.id == "cursor")


def test_a_host_is_held_against_the_profile_it_gets(work, world, db):
    status = cursor(world, db)
    assert (status.state, status.profile) == ("in sync", "work")
    assert status.catalog.profile.name == "work"
    tick(db, "default", "stub/alpha_list")
    assert cursor(world, db).state == "in sync"


def test_its_size_is_that_of_its_profile(work, world, db):
    (size,) = host_sizes([cursor(world, db)])
    assert (size.mode, size.verdict.tools) == ("pruned", 3)


def test_a_host_whose_profile_is_gone_is_held_against_the_one_asked_for(work, world, db):
    db.execute("DELETE FROM profiles WHERE name = 'work'")
    status = cursor(world, db)
    assert status.catalog.profile.name == "default"
    assert (status.state, status.profile) == ("changes", "work")


def test_what_is_recommended_is_of_the_profile_in_view(work, world, db):
    world.write(".codex/config.toml", '[mcp_servers.stub]\ncommand = "x"\n')
    world.learn()
    seen = load_catalog(db, "work")
    apply(prepare(db, world.places, seen, host_id="codex", mode="native"), world.ctx, db)
    tick(db, "default", "stub/alpha_list")
    tick(db, "default", "stub/beta_delete")
    status = next(s for s in survey(db, world.places, world.catalog) if s.host.id == "codex")
    assert (status.catalog.profile.name, status.profile) == ("work", "work")
    assert "2 tools" in status.recommendation.reason
