"""From a server's row (or the command after --) to a channel; what that needs loads late."""

import json
import os
from collections.abc import Callable, Sequence

from app.errors import ToolcribError
from app.gateway.exchange import Channel
from app.gateway.own import has_credentials
from store.serving import ServerRow
from store.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.paths import Paths


def from_command(command: Sequence[str]) -> Channel:
    """The channel of the command that follows `--`, in the environment the host gave us."""
    from app.gateway.channel import StdioChannel
    from app.processes import prepare

    return StdioChannel(prepare(command[0], list(command[1:])))


def from_row(row: ServerRow, paths: "Callable[[], Paths]") -> Channel:
    """The channel of a stored server, with its secrets; raises ToolcribError."""
    if not row.trusted:
        raise ToolcribError("It is not trusted yet.", "Allow it in Toolcrib first.")
    from pathlib import Path

    from app.gateway.channel import StdioChannel
    from app.hosts.interpolation import expand
    from app.hosts.launch import LaunchSpec
    from app.processes import prepare
    from app.secrets import Secrets, SecretStore
    from store.records import ServerSpec

    fields: dict[str, Any] = json.loads(row.spec)
    plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
    spec = ServerSpec(**plain)
    # a keychain is slow to load, and most servers have nothing in it
    store = SecretStore.open(paths())
    secrets = store.get(row.name) if has_credentials(row.spec) else Secrets()
    launch = expand(LaunchSpec.from_spec(spec, secrets), os.environ, Path.home())
    values = (*secrets.env.values(), *secrets.headers.values(), *secrets.values)
    if launch.transport != "stdio":
        from app.gateway.remote import RemoteChannel
        from app.signin.auth import StoredAuth

        auth = StoredAuth(store, row.name, launch.url)
        return RemoteChannel(launch, values, str(row.taken_with.get("transport", "")), auth=auth)
    prepared = prepare(launch.command, launch.args, env=dict(launch.env), cwd=launch.cwd)
    return StdioChannel(prepared, values)


def launcher(
    row: ServerRow | None, command: Sequence[str], paths: "Callable[[], Paths]"
) -> Callable[[], Channel]:
    """How to start a server: by its own command where one was given."""

    def launch() -> Channel:
        if command:
            return from_command(command)
        if row is None:
            raise ToolcribError("It is not in Toolcrib's catalogue.", "Read the servers again.")
        return from_row(row, paths)

    return launch
