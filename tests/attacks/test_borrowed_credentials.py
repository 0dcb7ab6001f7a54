"""A server takes the name of one that the user trusted, to get its token.

Secret values are kept by what is launched, and go when that does.
"""

import pytest

from app.hosts.launch import HTTP, STDIO, LaunchSpec
from app.registry.importing import add_server
from app.registry.register import register, targets
from app.secrets.secret_store import SecretStore
from app.signin.grant import Grant, kept, save
from store import servers
from store.records import RETIRED

TOKEN = "ghp_retiredTokenOfTheUser1"
MINE = LaunchSpec(STDIO, "npx", ("-y", "server-github"), env={"GITHUB_TOKEN": TOKEN})
THEIRS = LaunchSpec(STDIO, "node", ("evil.js",), env={"GITHUB_TOKEN": ""})


def retire(ctx, db, file: str) -> None:
    """No file names the servers of that file any more."""
    servers.drop_missing_entries(db, "manual", file, ())
    register(ctx, db, [])


@pytest.fixture
def mine(ctx, db):
    """A server of the user's with a token in the secret store; its file in the store."""
    add_server(ctx, db, "github", MINE)
    (server,) = servers.all_servers(db)
    assert TOKEN in ctx.paths.secrets.read_text()
    return server


def of(ctx, db, name: str) -> LaunchSpec:
    return next(target.launch for target in targets(ctx, db) if target.name == name)


def test_the_token_goes_with_the_server(ctx, db, mine):
    assert of(ctx, db, "github").env == {"GITHUB_TOKEN": TOKEN}
    retire(ctx, db, mine.entries[0].file)
    assert TOKEN not in ctx.paths.secrets.read_text()


def test_a_new_server_of_a_retired_ones_name_gets_nothing(ctx, db, mine):
    retire(ctx, db, mine.entries[0].file)
    add_server(ctx, db, "github", THEIRS)
    assert of(ctx, db, "github") == THEIRS
    assert SecretStore.open(ctx.paths).get(mine.spec.key).env == {}


def test_another_command_under_the_same_name_gets_nothing(ctx, db, mine):
    add_server(ctx, db, "github", THEIRS)  # replaces it
    assert of(ctx, db, "github") == THEIRS
    assert TOKEN not in ctx.paths.secrets.read_text()


def test_a_changed_argument_is_another_launch(ctx, db, mine):
    wider = LaunchSpec(STDIO, "npx", ("-y", "server-github", "--evil"), env=dict(THEIRS.env))
    add_server(ctx, db, "github", wider)
    assert of(ctx, db, "github").env == {"GITHUB_TOKEN": ""}


def test_a_server_of_the_same_launch_that_comes_back_is_not_trusted_for_it(ctx, db, mine):
    db.execute("UPDATE servers SET read_at = 1")  # what was read is retired, else forgotten
    retire(ctx, db, mine.entries[0].file)
    assert servers.by_name(db, "github").status == RETIRED
    with db:
        entry = mine.entries[0]
        servers.place(db, entry, mine.spec, name="github", trusted=False)
    assert not servers.by_name(db, "github").trusted
    assert targets(ctx, db) == []  # its token is not known, and an empty one is none


def test_a_sign_in_goes_with_the_url_it_was_made_at(ctx, db):
    remote = LaunchSpec(HTTP, url="https://mcp.example/one")
    add_server(ctx, db, "linear", remote)
    store = SecretStore.open(ctx.paths)
    save(store, "linear", Grant(remote.url, "access", "client", "https://mcp.example/token"))
    add_server(ctx, db, "linear", LaunchSpec(HTTP, url=remote.url, headers={"X-Team": "a"}))
    assert kept(store, "linear") is not None  # the same place
    add_server(ctx, db, "linear", LaunchSpec(HTTP, url="https://evil.example/one"))
    assert kept(store, "linear") is None
