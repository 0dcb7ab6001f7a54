"""From a server's row (or the command after --) to a channel; what that needs loads late."""

import os
from collections.abc import Callable, Mapping, Sequence

from app.core.errors import ToolcribError
from app.core.scrubber import Scrubber
from app.mcp.requests import Channel
from store.serving import ServerRow, spec_fields
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from app.core.paths import Paths
    from app.hosts.launch import LaunchSpec
    from app.secrets.secret_store import SecretStore


def from_command(
    command: Sequence[str],
    row: ServerRow | None,
    scrubber: Scrubber,
    environ: Mapping[str, str],
    folder: str,
) -> Channel:
    """The channel of the command that follows `--`, in the environment the host gave us."""
    from app.hosts.launch import STDIO, LaunchSpec, inherited_secrets
    from app.mcp.stdio import StdioChannel
    from app.system.processes import prepare

    names = spec_fields(row).get("env_names", ()) if row is not None else ()
    env = {name: environ[name] for name in names if name in environ}
    launch = LaunchSpec(STDIO, command[0], tuple(command[1:]), env)
    scrubber.add((*launch.secret_values(), *inherited_secrets(environ)))
    prepared = prepare(command[0], list(command[1:]), environ=environ, cwd=folder)
    return StdioChannel(prepared, scrubber.values)


def from_row(
    row: ServerRow,
    paths: "Callable[[], Paths]",
    scrubber: Scrubber,
    environ: Mapping[str, str],
    folder: str,
) -> Channel:
    """The channel of a stored server, with its secrets; raises ToolcribError."""
    if row.disabled:
        raise ToolcribError("It is disabled in Toolcrib.", "Enable it there first.")
    if not row.trusted:
        raise ToolcribError("It is not trusted yet.", "Allow it in Toolcrib first.")
    from app.hosts.launch import inherited_secrets
    from app.mcp.stdio import StdioChannel
    from app.secrets.secret_store import SecretStore
    from app.system.processes import prepare

    store = SecretStore.open(paths())
    launch = _launch_of(row, store, environ)
    scrubber.add((*launch.secret_values(), *inherited_secrets(environ)))
    values = scrubber.values
    if launch.transport != "stdio":
        from app.mcp.http import RemoteChannel
        from app.signin.auth import StoredAuth

        auth = StoredAuth(store, row.name, launch.url)
        scrubber.watch(auth.values)
        return RemoteChannel(launch, values, str(row.taken_with.get("transport", "")), auth=auth)
    prepared = prepare(
        launch.command,
        launch.args,
        env=dict(launch.env),
        cwd=launch.cwd or folder,
        environ=environ,
    )
    return StdioChannel(prepared, values)


def _launch_of(row: ServerRow, store: "SecretStore", environ: Mapping[str, str]) -> "LaunchSpec":
    """The launch with all of its values; raises ToolcribError where one is not known."""
    from pathlib import Path

    from app.hosts.interpolation import expand
    from app.hosts.launch import LaunchSpec, missing, secrets_of
    from store.damage import server_spec

    spec = server_spec(row.spec)
    if spec is None:
        raise ToolcribError(
            "What is stored of its command is damaged.", "Tell the user to run: toolcrib doctor"
        )
    secrets = secrets_of(spec, store)
    if names := missing(spec, secrets, environ):
        secrets_of(spec, store.strict())  # a locked keychain says so
        raise ToolcribError(
            f"It was not started: no value is known for {', '.join(names)}.",
            f"Tell the user to run: toolcrib server keep-values {row.name}",
        )
    return expand(LaunchSpec.from_spec(spec, secrets, environ), environ, Path.home())


def launcher(
    row: ServerRow | None,
    command: Sequence[str],
    paths: "Callable[[], Paths]",
    scrubber: Scrubber,
    environ: Mapping[str, str] = os.environ,
    folder: str = "",
) -> Callable[[], Channel]:
    """Return the function that starts a server: by its own command where one was given.

    `scrubber` learns the server's secret values before the server can say anything. `environ` and
    `folder` are those of the host that it is started for, "" for our own folder.
    """

    def launch() -> Channel:
        if command:
            return from_command(command, row, scrubber, environ, folder)
        if row is None:
            raise ToolcribError("It is not in Toolcrib's catalogue.", "Read the servers again.")
        return from_row(row, paths, scrubber, environ, folder)

    return launch
