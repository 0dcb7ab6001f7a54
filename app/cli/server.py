"""`toolcrib server ...`: one server disabled, edited, renamed, removed, also in a host's file."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import apsw

from app.catalog.catalog import set_disabled
from app.cli import server_update
from app.cli.console import Console
from app.cli.export import shown_difference
from app.cli.options import NEEDS_CONSENT, Verbs, add_dry_run, add_group, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.export import apply as writes
from app.export.entries.plan import load_entry, load_plan
from app.export.plan import DISABLE, EDIT, ENABLE, REMOVE, EntryChange, Plan
from app.host_status.entry_taken import register_entry
from app.hosts.launch import LaunchSpec
from app.hosts.places import Places
from app.indexing.past_texts import hide_in_past
from app.registry import own_servers
from app.registry.importing import edit_server
from app.registry.kept_values import MissingValues, keep, lacking
from app.registry.register import forget_secrets, stored_launch
from app.secrets.secret_store import SecretStore
from app.system.quoting import quoted, split
from store import servers
from store.records import MANUAL, EntryRecord, ServerRecord
from store.typed import Json

_WORDS = {
    DISABLE: "do not start or serve a server; with --host: switch it off in that host's file",
    ENABLE: "start and serve a server again; with --host: switch it on in that host's file",
    REMOVE: "remove an added server; with --host: remove it from that host's file",
    "rename": "rename an added server; with --host: rename it in that host's file",
    EDIT: "change an added server's command or URL; with --host: in that host's file",
}
_SHAPE = (
    'JSON: {"server", "action", "host", "file", "written", "backup", "notes"}; without --host only'
    ' the first two and "disabled". With --host, --dry-run writes nothing and shows the'
    " difference, secrets masked; undo it with: toolcrib restore HOST --last"
)


def add(verbs: Verbs) -> None:
    """Add the verb and its actions."""
    actions = add_group(verbs, "server")
    for name, words in _WORDS.items():
        one = add_verb(actions, name, run_server, words, _SHAPE)
        one.add_argument("server", help="its name, as in toolcrib footprint or in the file")
        if name == "rename":
            one.add_argument("new", help="its new name")
        if name == EDIT:
            _add_launch(one)
        one.add_argument("--host", default="", metavar="ID", help="in the file of this host")
        one.add_argument("--file", type=Path, metavar="FILE", help="the file, if several name it")
        one.add_argument("--scope", metavar="SCOPE", help="the scope, if it is in the file twice")
        add_dry_run(one)
        one.add_argument("--insist", action="store_true", help="write even if the host is running")
        one.set_defaults(action=name)
    _add_keep(actions)
    server_update.add(actions)


def _add_keep(actions: Verbs) -> None:
    keeps = add_verb(
        actions,
        "keep-values",
        run_keep_values,
        "keep variables and credentials of hosts' files, so that Toolcrib can start servers",
        "A scan keeps no value of a host's file. Without them a server is not started "
        "for another host or over HTTP. Values go to the keychain, or to a file that only you can "
        'read. JSON: {"kept": [NAME], "lacking": [NAME]}.',
    )
    keeps.add_argument("servers", nargs="*", help="only these (default: all that lack values)")
    keeps.add_argument("--yes", action="store_true", help="keep them without asking")


def run_keep_values(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Keep the values that servers need; asks first."""
    with ctx.store() as db:
        for name in args.servers:
            known_server(db, name)
        wanted = lacking(ctx, db, Places.here(), args.servers)
    if not wanted:
        value: Json = {"kept": [], "lacking": []}
        console.result(value, lambda: "No trusted server lacks a value.")
        return 0
    if not offer_values(ctx, console, wanted, yes=args.yes):
        return NEEDS_CONSENT
    return 0


def offer_values(
    ctx: AppContext, console: Console, wanted: Sequence[MissingValues], *, yes: bool
) -> bool:
    """Ask, keep, and print what was kept; False where the user did not agree."""
    console.note("These servers need values that only a host's file has:")
    for one in wanted:
        console.note(f"  {one.text}")
    where = SecretStore.open(ctx.paths).where
    place = "keychain" if where == "keychain" else f"file {ctx.paths.secrets}"
    if not yes and not console.confirm(f"Keep them in the {place}?"):
        console.note("Nothing was kept; these servers are not started without their host.")
        console.note("To keep the values without being asked: toolcrib server keep-values --yes")
        return False
    try:
        left = keep(ctx.paths, wanted)
    except OSError as error:
        title = f"The values were not kept: {error.strerror}."
        raise ToolcribError(title, "Check the free space, and that you may write there.") from error
    with ctx.store() as db:
        hide_in_past(db, [one.launch for one in wanted if one.launch is not None])
    kept = [one.server for one in wanted if one.server not in left]
    lines = [f"Kept in the {place}: {', '.join(kept)}."] if kept else []
    if left:
        lines.append(f"No host's file has the values of: {', '.join(left)}. Add them again.")
    console.result({"kept": kept, "lacking": list(left)}, lambda: "\n".join(lines))
    return True


def _add_launch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--command", metavar="LINE", help="program and arguments, as in a shell")
    parser.add_argument("--url", metavar="URL", help="instead of a command")
    for name, what in (("--env", "variable"), ("--header", "header")):
        parser.add_argument(
            name, action="append", default=[], metavar="KEY=VALUE",
            help=f"a {what} to set; KEY= removes it",
        )  # fmt: skip


def run_server(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Do it in Toolcrib, or in a host's file."""
    if args.action == "rename" and not args.new.strip():
        raise ToolcribError("The new name is empty.")
    with ctx.store() as db:
        record = _in_host(db, args) or known_server(db, args.server)
        if args.host or args.file:
            _in_file(args, record, ctx, db, console=console)
        elif args.dry_run:
            raise ToolcribError("Without --host no file changes.", "Leave --dry-run out.")
        else:
            _in_toolcrib(args, record, ctx, db, console=console)
    return 0


def _in_host(db: apsw.Connection, args: argparse.Namespace) -> ServerRecord | None:
    """The server whose entry in that host's file has this name, which need not be its own."""
    rows = [
        server
        for server in servers.all_servers(db)
        for entry in server.entries
        if args.host and (entry.host, entry.name) == (args.host, args.server)
    ]
    return rows[0] if len({row.id for row in rows}) == 1 else None


def _in_toolcrib(
    args: argparse.Namespace,
    record: ServerRecord,
    ctx: AppContext,
    db: apsw.Connection,
    *,
    console: Console,
) -> None:
    name, action = quoted(record.name), args.action
    if action in (DISABLE, ENABLE):
        set_disabled(db, [record.id], action == DISABLE)
        back = f"Enable it again: toolcrib server enable {name}"
        text = f"{record.name} is disabled. {back}" if action == DISABLE else f"{name} is enabled."
    else:
        if not own_servers.is_own(record):
            files = ", ".join(f"{one.host} ({one.file})" for one in record.entries)
            hint = f"Name the host: --host {record.entries[0].host if record.entries else 'ID'}"
            raise ToolcribError(f"{record.name} is in the file of {files}.", hint)
        if action == REMOVE:
            before = servers.launches(db)
            own_servers.remove_own(db, [record])
            forget_secrets(ctx, before, servers.launches(db))  # nothing here takes it back
            text = f"{record.name} is removed. It comes back with its ticks when it is added again."
        else:
            old = stored_launch(record, SecretStore.open(ctx.paths))
            if old is None:
                raise ToolcribError(f"The command of {record.name} is not known.")
            new = _launch(args, old) if action == EDIT else old
            edit_server(ctx, db, record, args.new if action == "rename" else record.name, new)
            text = f"{record.name} is {'renamed' if action == 'rename' else 'edited'}."
    value = {"server": record.name, "action": action, "disabled": action == DISABLE}
    console.result(value, lambda: text)


def _in_file(
    args: argparse.Namespace,
    record: ServerRecord,
    ctx: AppContext,
    db: apsw.Connection,
    *,
    console: Console,
) -> None:
    places, entry = Places.here(None), _entry(args, record)
    change = EntryChange(entry, EDIT if args.action == "rename" else args.action)
    if args.action == "rename":
        change = replace(change, name=args.new)
    if args.action == EDIT:
        present = load_entry(db, places, entry).entry.launch
        if present is None:
            raise ToolcribError(f"The command of {record.name} is not known.")
        change = replace(change, launch=_launch(args, present))
    made = load_plan(ctx, db, places, change)
    if made.refusal:
        raise ToolcribError(made.refusal)
    done = () if args.dry_run else writes.apply(made, ctx, db, insist=args.insist)
    if done:
        register_entry(ctx, db, places, entry, (entry.name, change.name))
    backup = next((one.backup for one in done), "")
    value = {
        "server": record.name,
        "action": args.action,
        "host": entry.host,
        "file": entry.file,
        "written": bool(done),
        "backup": backup,
        "notes": _notes(made),
    }
    console.result(value, lambda: _text(made, entry, backup, written=bool(done)))


def _text(made: Plan, entry: EntryRecord, backup: str, *, written: bool) -> str:
    if made.empty:
        return f"{entry.file} already has this: nothing to write."
    lines = [] if written else shown_difference(made)
    lines += [f"{entry.file}: {'; '.join(made.changes)}", *_notes(made)]
    if not written:
        return "\n".join([*lines, "Nothing was written (--dry-run)."])
    lines.append(f"The old file is kept as {backup}")
    lines.append(f"Take it back with: toolcrib restore {entry.host} --last")
    return "\n".join([*lines, *([f"To load it: {made.restart_hint}"] if made.restart_hint else [])])


def _notes(made: Plan) -> list[str]:
    others = ", ".join(made.also_read_by)
    return [*made.warnings, *([f"Also read by {others}."] if others else [])]


def _entry(args: argparse.Namespace, record: ServerRecord) -> EntryRecord:
    """The entry that is meant; raises ToolcribError where none or several are."""
    named = [one for one in record.entries if one.host != MANUAL]
    chosen = [one for one in named if not args.host or one.host == args.host]
    if args.file:
        chosen = [one for one in chosen if one.file == str(args.file.absolute())]
    if any(one.name == args.server for one in chosen):  # one file may name it twice
        chosen = [one for one in chosen if one.name == args.server]
    if args.scope:
        chosen = [one for one in chosen if one.scope == args.scope]
    where = ", ".join(f"{one.host} ({one.file})" for one in named) or "no host's file"
    if not chosen:
        raise ToolcribError(f"{record.name} is not there.", f"It is in {where}.")
    if len({one.file for one in chosen}) < len(chosen):
        scopes = ", ".join(quoted(one.scope) for one in chosen)
        raise ToolcribError(f"{record.name} is there several times.", f"Add --scope: {scopes}")
    if len(chosen) > 1:
        files = ", ".join(one.file for one in chosen)
        raise ToolcribError(f"{record.name} is in several files.", f"Add --file: {files}")
    return chosen[0]


def _launch(args: argparse.Namespace, old: LaunchSpec) -> LaunchSpec:
    """The launch with what was typed instead."""
    if not (args.command or args.url or args.env or args.header):
        raise ToolcribError("Nothing to change.", "Add --command, --url, --env or --header.")
    if (args.command and old.url) or (args.url and old.command):
        raise ToolcribError("A command does not become a URL, nor a URL a command.")
    if old.url and args.env:
        raise ToolcribError("A server behind a URL gets no variables.", "Add --header instead.")
    if old.command and args.header:
        raise ToolcribError("A server that is started gets no headers.", "Add --env instead.")
    words = _split(args.command) if args.command else [old.command, *old.args]
    return replace(
        old,
        command=words[0],
        args=tuple(words[1:]),
        url=args.url or old.url,
        env=_changed(old.env, args.env),
        headers=_changed(old.headers, args.header),
    )


def _split(line: str) -> list[str]:
    try:
        words = split(line)
    except ValueError as error:
        raise ToolcribError("The command has an open quotation mark.", "Close it.") from error
    if not words:
        raise ToolcribError("The command is empty.")
    return words


def _changed(old: Mapping[str, str], given: list[str]) -> dict[str, str]:
    pairs = dict(old)
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ToolcribError(f"{name or '='} is not of the form KEY=VALUE.")
        if value:
            pairs[name] = value
        else:
            pairs.pop(name, None)
    return pairs


def known_server(db: apsw.Connection, name: str) -> ServerRecord:
    """The server of that name; raises ToolcribError that names the known ones."""
    rows = servers.all_servers(db)
    record = next((one for one in rows if one.name == name), None)
    if record is None:
        known = ", ".join(one.name for one in rows)
        raise ToolcribError(
            f"There is no server called {name}.",
            f"Known are: {known}."
            if known
            else "No server is known yet: toolcrib scan finds some.",
        )
    return record
