"""Every value that Toolcrib keeps is known before its server is started."""

from collections.abc import Mapping

import apsw

from app.core.context import AppContext
from app.core.scrubber import HIDDEN, Scrubber
from app.hosts.launch import LaunchSpec
from app.indexing.kept_secrets import KeptSecrets
from app.registry.importing import add_server
from app.secrets.secret_store import SecretStore
from app.signin.grant import Grant, save

URL = "https://mcp.example/mcp"


def learned(
    ctx: AppContext, db: apsw.Connection, environ: Mapping[str, str] | None = None
) -> tuple[Scrubber, KeptSecrets]:
    scrubber = Scrubber()
    kept = KeptSecrets(scrubber, ctx.paths, environ or {})
    kept.learn(db)
    return scrubber, kept


def test_a_token_that_came_later_is_known(ctx: AppContext, db: apsw.Connection) -> None:
    add_server(ctx, db, "remote", LaunchSpec("http", url=URL))
    scrubber, kept = learned(ctx, db)
    for token in ("first-tok-11", "renewed-tok-22"):
        save(SecretStore.open(ctx.paths), "remote", Grant(URL, token, "client", URL))
        kept.learn(db)
        assert scrubber.text(f"with {token} in it") == f"with {HIDDEN} in it"


def test_a_server_that_came_later_is_known(ctx: AppContext, db: apsw.Connection) -> None:
    scrubber, kept = learned(ctx, db)
    add_server(ctx, db, "local", LaunchSpec("stdio", "server", env={"PLACE": "k7Qw-9zPx-33ab"}))
    kept.learn(db)
    assert scrubber.text("at k7Qw-9zPx-33ab") == f"at {HIDDEN}"


def test_a_value_that_a_server_inherits_is_known(ctx: AppContext, db: apsw.Connection) -> None:
    launch = LaunchSpec("stdio", "server", env={"PLACE": "k7Qw-9zPx-33ab"})
    add_server(ctx, db, "local", launch)
    ctx.paths.secrets.unlink()
    scrubber, _ = learned(ctx, db, {"PLACE": "m8Rt-1aQy-44cd"})
    assert scrubber.text("at m8Rt-1aQy-44cd") == f"at {HIDDEN}"
