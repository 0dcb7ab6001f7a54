"""Exports to the files of projects."""

from app.hosts.places import Places

USERS = {"mcpServers": {"stub": {"command": "python", "args": ["stub.py"]}}}


def test_a_project_export_writes_the_projects_file_only(world):
    world.write(".cursor/mcp.json", USERS)
    project = world.home / "shop"
    world.write("shop/.cursor/mcp.json", {"mcpServers": {"db": {"command": "db"}}})
    world.learn(places=Places(world.home, {}, "linux", project))
    world.narrow()
    made = world.plan("cursor", "pruned", project=project)
    assert [file.path for file in made.files] == [project / ".cursor/mcp.json"]


def test_an_export_of_one_project_leaves_another_as_it_is(world):
    stub = {"mcpServers": {"db": {"command": "db"}}}
    files = [world.write(f"{name}/.cursor/mcp.json", stub) for name in ("shop", "site")]
    for file in files:
        project = file.parents[1]
        world.learn(places=Places(world.home, {}, "linux", project))
        world.narrow()
        world.export("cursor", "pruned", project=project)
    assert all("toolcrib-gateway" in file.read_text() for file in files)
    made = world.plan("cursor", "as-is", project=files[0].parents[1])
    assert [one.path for one in made.files] == [files[0]]


def test_credentials_in_a_projects_file_are_warned_of(world):
    project = world.home / "shop"
    for env, warned in (({"K": "t0p-s3cret"}, True), ({"K": "${env:K}"}, False)):
        entry = {"command": "db", "env": env}
        world.write("shop/.cursor/mcp.json", {"mcpServers": {"db": entry}})
        world.learn(places=Places(world.home, {}, "linux", project))
        world.narrow()
        made = world.plan("cursor", "pruned", project=project)
        assert any("may be committed" in warning for warning in made.warnings) is warned
