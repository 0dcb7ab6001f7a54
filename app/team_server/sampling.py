"""The trial: Postgres in a folder, a sample organisation with real servers, and the server."""

import os
import signal
import socket
import sys
from pathlib import Path

from app.core.errors import ToolcribError
from app.core.safe_write import make_file
from app.team_server import trial
from app.team_server.administration import say
from app.team_server.configuration import DATABASE, URL, Configuration
from app.team_server.finding import load_encoder
from app.team_server.reading import read_server
from app.team_server.sealing import KEY_VARIABLE, Sealer, new_key
from app.team_server.serving import listen, make, serve
from resources.sample.config import SCRIPT
from store.files import private_folder
from store.team import members, organisations, profiles, servers, tokens
from store.team.connecting import as_operator
from store.team.migrate import migrate
from store.team.records import ADMIN, EDITOR, MEMBER, NewServer, TickRow

ORGANISATION = "sample-team"
SERVERS = ("notes", "files", "tracker")
PROFILE = "everyday"
_PEOPLE = (("alex", ADMIN), ("robin", EDITOR), ("sam", MEMBER))
_PINNED = "notes/search_notes"


def run_trial(folder: Path, port: int) -> int:
    """Start everything in a folder and serve until it is stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Postgres must not outlive it
    folder = folder.expanduser().absolute()
    private_folder(folder)
    key = _key(folder / "key")
    own = _listening(port)
    url = f"http://127.0.0.1:{own.getsockname()[1]}"
    # Postgres runs as a user of its own where root starts it: it cannot enter a private folder
    cluster = trial.start(folder / "postgres")
    try:
        given = Configuration(database=cluster.dsn(), url=url, programs=_programs(folder / "state"))
        migrate(given.database)
        issued = _fill(given)
        _print(url, folder, issued)
        say("  For the other verbs of toolcrib-team, in another terminal:")
        say(
            f"    export {DATABASE}='{given.database}' {URL}={url}"
            f" {KEY_VARIABLE}=\"$(cat '{folder / 'key'}')\""
        )
        say(f"Stop it with Ctrl+C. Process {os.getpid()}.")
        replica = make(given, Sealer.from_environ({KEY_VARIABLE: key}))
        serve(replica, own)
    finally:
        own.close()
        cluster.stop()
    return 0


def _key(file: Path) -> str:
    if not file.exists():
        make_file(file, new_key().encode(), mode=0o600)
    return file.read_text(encoding="ascii").strip()


def _listening(port: int) -> socket.socket:
    try:
        return listen("127.0.0.1", port)
    except OSError as error:
        raise ToolcribError(f"Port {port} is busy.", "Choose another: --port 0") from error


def _programs(state: Path) -> dict[str, tuple[str, ...]]:
    """The sample servers, which the operator of a trial lists."""
    python = sys.executable
    place = f"TOOLCRIB_SAMPLE_STATE={state}"
    return {f"sample-{name}": (place, python, str(SCRIPT), name) for name in SERVERS}


def _fill(given: Configuration) -> dict[str, str]:
    """Make the sample organisation where there is none; tokens of members without one, by name."""
    with as_operator(given.database) as db:
        known = organisations.find(db, ORGANISATION)
        organisation = known or organisations.create(db, ORGANISATION)
        if known is None:
            for name, role in _PEOPLE:
                members.add(db, organisation.id, name, role)
            for name in SERVERS:
                new = NewServer(name, "stdio", {"command": f"sample-{name}"})
                servers.save(db, organisation.id, new)
    if known is None:
        encoder = load_encoder()
        for name in SERVERS:
            read_server(given, organisation.id, name, encoder=encoder)
    with as_operator(given.database) as db:
        if known is None:
            ticks = [TickRow(_PINNED, pinned=True)]
            profiles.save(db, organisation.id, PROFILE, {}, ticks)
        issued: dict[str, str] = {}
        for name, _role in _PEOPLE:
            member = members.named(db, organisation.id, name)
            if member is not None and not tokens.of_member(db, member.member_id):
                issued[name] = tokens.issue(db, member, "trial")[1]
    return issued


def _print(url: str, folder: Path, issued: dict[str, str]) -> None:
    say(f"The team server of the trial is at {url}")
    say(f"  Its data is in {folder}")
    for name, role in _PEOPLE:
        if name in issued:
            say(f"  Token of {name} ({role}): {issued[name]}")
    if len(issued) < len(_PEOPLE):
        say("  Tokens were printed at the first start. Another one, with the variables below:")
        say(f"    toolcrib-team token issue sam --organisation {ORGANISATION}")
    say(f"  On a member's machine: toolcrib team join {url}")
    say(f"  For a host by URL: {url}/mcp/{PROFILE} with the header Authorization: Bearer TOKEN")
