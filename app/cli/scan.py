"""`toolcrib scan`, `import` and `add`: which servers there are, and reading their tools."""

import argparse
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from app.catalog.catalog import trust_server
from app.catalog.reasons import DISABLED, sentence
from app.cli import market_add
from app.cli.console import Console, table
from app.cli.options import NEEDS_CONSENT, Verbs, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural, visible
from app.hosts.display import LaunchText, launch_text, spec_text
from app.hosts.launch import LaunchSpec
from app.hosts.places import Places
from app.hosts.projects import known_projects
from app.hosts.reading import read_hosts
from app.registry import importing
from app.registry.register import RegisterResult, Target, register, targets
from app.system.quoting import joined, quoted
from store import servers, tools
from store.records import NEEDS_SIGN_IN, READ, ServerRecord
from store.typed import Json

if TYPE_CHECKING:
    from app.registry.scan import ScanReport, ServerStatus

IN_PART = 5

_JSON = (
    'JSON: {"servers": [{"name", "host", "status", "problem", "tools", "hosts", "trusted", '
    '"disabled", "command", "notes"}], '
    '"counted", "encoded", "files": [{"host", "file", "problem"}]}.'
)


def add(verbs: Verbs) -> None:
    """Add the verbs."""
    reads = add_verb(
        verbs,
        "scan",
        run_scan,
        page="Reads the hosts' files, shows the exact commands, asks, then starts each "
        f"server, asks it for its tools and stops it. {_JSON}",
    )
    reads.add_argument("servers", nargs="*", help="only these servers (default: all trusted)")
    reads.add_argument("--project", type=Path, metavar="DIR", help="also this project's files")
    reads.add_argument(
        "--trust-projects", action="store_true", help="start and trust those of projects too"
    )
    reads.add_argument("--yes", action="store_true", help="start them without asking")
    takes = add_verb(
        verbs,
        "import",
        run_import,
        page="Registers the servers of any host's config file; with --profile that "
        "profile shows only these. Secret values move to the keychain, or to a file that only "
        f"you can read. {_JSON}",
    )
    takes.add_argument("file", type=Path, help="a config file of any host")
    takes.add_argument("--profile", default="", metavar="P", help="made if it does not exist")
    takes.add_argument("--dry-run", action="store_true", help="show what the file names")
    takes.add_argument("--scan", action="store_true", help="read their tools at once")
    takes.add_argument("--yes", action="store_true", help="start them without asking")
    typed = add_verb(
        verbs,
        "add",
        run_add,
        page='JSON: {"added": NAME, "state": added, replaced or same}; with --from'
        ' {"added", "state", "from", "version", "command"}, and with --dry-run what is known.',
    )
    name = typed.add_argument("name", help="with --from it may be left out")
    typed.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="a variable")
    typed.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", help="sent to a URL"
    )
    typed.add_argument("--cwd", default="", metavar="DIR", help="the folder it is started in")
    command = typed.add_argument("command", nargs="+", help="the command, or a URL")
    market_add.add_arguments(typed, (name, command))


def run_scan(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Find the servers, ask, read them."""
    readings = read_hosts(Places.here(args.project))
    files = [
        {"host": r.host.id, "file": str(r.file), "problem": r.problem}
        for r in readings
        if r.entries or r.problem
    ]
    with ctx.store() as db:
        if args.project is None:
            _note_projects(db, console)
        registered = register(ctx, db, readings)
        known = targets(ctx, db, registered)
        return _read(ctx, db, known, args=args, console=console, files=files)


def _note_projects(db: apsw.Connection, console: Console) -> None:
    """Name the projects that hosts know whose servers were never looked at."""
    seen = {Path(file) for _host, file, *_ in servers.host_files(db)}
    new = [one for one in known_projects(Places.here()) if not seen.issuperset(one.files)]
    if not new:
        return
    console.note("Projects that your hosts know have servers of their own. To look at one:")
    for one in new:
        files = ", ".join(str(file.relative_to(one.folder)) for file in one.files)
        command = joined(["toolcrib", "scan", "--project", str(one.folder)])
        console.note(f"  {visible(command)}  ({', '.join(one.hosts)}: {visible(files)})")


def run_import(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Register a file's servers, and read them when asked to."""
    if args.dry_run:
        return _preview(args.file, console)
    with ctx.store() as db:
        taken = importing.import_file(ctx, db, args.file, profile=args.profile)
        if taken.secrets_in:
            console.note(f"Secret values are kept in the {_where(ctx, taken.secrets_in)}.")
        named = _of(db, taken.registered, ctx)
        if args.scan:
            return _read(ctx, db, named, args=args, console=console, files=[])
        rows = [s for s in servers.all_servers(db) if s.name in taken.names]
        answer = _answer(db, rows, (), named, files=[])
        console.result(answer, lambda: "\n".join(["Taken:", *_lines(named)]))
        return 0


def _preview(file: Path, console: Console) -> int:
    """Print the servers that a file would add, as consent shows them."""
    named = importing.preview(file)
    value = {
        "servers": [
            {"name": name, "command": text.command, "notes": list(text.notes)}
            for name, text in named
        ]
    }
    lines = [line for name, text in named for line in text.under(name)]
    console.result(value, lambda: "\n".join(lines))
    return 0


def run_add(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Register one server that was typed in, or that a list names."""
    if args.listed:
        return _add_listed(args, ctx, console)
    if args.dry_run or args.values or args.package:
        raise ToolcribError("--dry-run, --set and --package belong to --from.")
    env, headers = _pairs(args.env), _pairs(args.header)
    first = args.command[0]
    if first.startswith(("http://", "https://")):
        launch = LaunchSpec(transport="http", url=first, headers=headers)
    else:
        launch = LaunchSpec(
            transport="stdio", command=first, args=tuple(args.command[1:]), env=env, cwd=args.cwd
        )
    with ctx.store() as db:
        before = servers.launches(db)
        taken = importing.add_server(ctx, db, args.name, launch)
        after = servers.by_name(db, taken.names[0])
    name = taken.names[0]
    state = "added"
    if after is not None and after.id in before:
        state = "same" if before[after.id].key == after.spec.key else "replaced"
    words = _ADDED[state] if name == args.name else f"{_ADDED[state]} It is called {name} here."
    read = f"Read its tools: toolcrib scan {quoted(name)}"
    console.result(
        {"added": name, "state": state},
        lambda: "\n".join([*launch_text(launch).under(name), f"{words} {read}"]),
    )
    return 0


_ADDED = {
    "added": "Added.",
    "replaced": "Replaced: a server of that name was there with another command.",
    "same": "It was there already, just the same. Nothing was changed.",
}


def _add_listed(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    if args.command or args.env or args.header or args.cwd:
        raise ToolcribError(
            "A listed server brings its command.", "Give its values with --set KEY=VALUE."
        )
    return market_add.run_add_listed(args, ctx, console)


def _pairs(given: Sequence[str]) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in given]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise ToolcribError(f"{name or '='} is not of the form KEY=VALUE.")
    return {name: value for name, _, value in pairs}


def _where(ctx: AppContext, place: str) -> str:
    return "keychain" if place == "keychain" else f"file {ctx.paths.secrets}, readable by you only"


def _of(db: apsw.Connection, registered: RegisterResult, ctx: AppContext) -> list[Target]:
    ids = set(registered.server_ids)
    return [t for t in targets(ctx, db, registered) if t.server_id in ids]


def _wanted(
    db: apsw.Connection, startable: Sequence[Target], args: argparse.Namespace
) -> list[Target]:
    if args.servers:
        unknown = set(args.servers) - {t.name for t in startable}
        disabled = {s.name for s in servers.all_servers(db) if s.disabled}
        if off := sorted(disabled & unknown):
            raise ToolcribError(
                f"{off[0]} is not started: {sentence(DISABLED)}.",
                f"Enable it: toolcrib server enable {quoted(off[0])}",
            )
        if unknown:
            raise ToolcribError(
                f"There is no server called {', '.join(sorted(unknown))} that can be started.",
                f"Known are: {', '.join(t.name for t in startable) or 'none'}.",
            )
        return [t for t in startable if t.name in args.servers]
    trusted = {s.id for s in servers.all_servers(db) if s.trusted or args.trust_projects}
    return [t for t in startable if t.server_id in trusted and not t.disabled]


def _read(
    ctx: AppContext,
    db: apsw.Connection,
    known: Sequence[Target],
    *,
    args: argparse.Namespace,
    console: Console,
    files: list[dict[str, str]],
) -> int:
    """Ask, read, print; the exit code. All of `known` is read, of a scan what was asked for."""
    wanted = _wanted(db, known, args) if args.run is run_scan else known
    report = None
    if wanted and (args.yes or _agreed(wanted, console)):
        if args.run is run_scan and args.trust_projects:
            _trust(db, wanted, ctx.clock())
        report = _scan(ctx, wanted, console)
    ids = {t.server_id for t in wanted}
    rows = [s for s in servers.all_servers(db) if args.run is run_scan or s.id in ids]
    statuses = report.servers if report else ()
    answer = _answer(db, rows, statuses, known, files=files)
    if report:
        answer |= {"counted": report.counted, "encoded": report.encoded}
        if report.note:
            console.note(f"Meaning is not searched yet: {report.note}")
    console.result(answer, lambda: _text(answer))
    if report:
        from app.cli.requests import after_scan  # an HTTP client, which other verbs do not need

        after_scan(ctx, console, report.delta.added)
    if report is None:
        return _not_read(wanted, console)
    failed = [s for s in statuses if s.status not in (READ, NEEDS_SIGN_IN)]
    return IN_PART if failed else 0


def _trust(db: apsw.Connection, chosen: Sequence[Target], at: float) -> None:
    """Let the tools of these servers reach hosts, as ticking them in the window does."""
    trusted = {server.id for server in servers.all_servers(db) if server.trusted}
    for target in chosen:
        if target.server_id not in trusted:
            trust_server(db, target.server_id, at)


def _not_read(wanted: Sequence[Target], console: Console) -> int:
    if not wanted:
        return 0
    if not console.can_ask:
        _show_commands(wanted, console)
    console.note("Nothing was started. To start them without being asked, add --yes.")
    return NEEDS_CONSENT


def _agreed(wanted: Sequence[Target], console: Console) -> bool:
    if not console.can_ask:
        return False
    _show_commands(wanted, console)
    return console.confirm("Start them?")


def _show_commands(wanted: Sequence[Target], console: Console) -> None:
    console.note("These commands would be started, asked for their tools, and stopped:")
    for line in _lines(wanted):
        console.note(line)


def _lines(shown: Sequence[Target]) -> list[str]:
    return [line for target in shown for line in target.text.under(target.name)]


def _scan(ctx: AppContext, wanted: Sequence[Target], console: Console) -> "ScanReport":
    """Read the servers with a line of progress; Ctrl+C stops them all, then counts as such."""
    from app.registry.scan import ScanOptions, scan  # the SDK costs 1.2 s of CPU

    done: dict[int, ServerStatus] = {}

    def on_status(status: "ServerStatus") -> None:
        done[status.server_id] = status
        read = sum(s.status == READ for s in done.values())
        failed = sum(s.status not in ("waiting", "reading", READ) for s in done.values())
        counts = f"{read} of {len(wanted)} servers read" + (f", {failed} not" if failed else "")
        console.progress(f"{counts} · {status.name}: {status.text}")

    options = ScanOptions(
        on_status=on_status,
        on_progress=lambda text, share: console.progress(f"{text} ({share:.0%})"),
        cancel=threading.Event(),
    )
    return scan(ctx, wanted, options)


def _answer(
    db: apsw.Connection,
    rows: Sequence[ServerRecord],
    statuses: "Sequence[ServerStatus]",
    known: Sequence[Target],
    *,
    files: list[dict[str, str]],
) -> Json:
    now = {s.server_id: s for s in statuses}
    texts = {target.server_id: target.text for target in known}
    return {
        "servers": [
            _server(db, row, now.get(row.id), texts.get(row.id) or spec_text(row.spec))
            for row in rows
        ],
        "counted": 0,
        "encoded": 0,
        "files": files,
    }


def _server(
    db: apsw.Connection, row: ServerRecord, status: "ServerStatus | None", text: LaunchText
) -> dict[str, object]:
    hosts = list(dict.fromkeys(entry.host for entry in row.entries))
    return {
        "name": row.name,
        "host": hosts[0] if hosts else "manual",
        "status": status.status if status else row.status,
        "problem": status.problem if status else row.problem,
        "tools": len(tools.tools(db, row.id)),
        "hosts": hosts,
        "trusted": row.trusted,
        "disabled": row.disabled,
        "command": text.command,
        "notes": list(text.notes),
    }


def _text(answer: Json) -> str:
    if not answer["servers"]:
        return "No MCP servers found. Take a config file with: toolcrib import FILE"
    rows = [["server", "found in", "status", "tools", "problem"]]
    for s in answer["servers"]:
        state = "disabled" if s["disabled"] else s["status"]
        state = state if s["trusted"] else f"{state}, not trusted"
        rows.append([s["name"], ", ".join(s["hosts"]), state, str(s["tools"]), s["problem"]])
    read = sum(s["status"] == READ for s in answer["servers"])
    known = plural(sum(s["tools"] for s in answer["servers"]), "tool")
    lines = [table(rows, right=frozenset({3}))]
    lines.append(f"\n{read} of {plural(len(answer['servers']), 'server')} read, {known}.")
    if read:
        lines.append("See what they cost: toolcrib footprint")
    lines += [f"{f['file']}: {f['problem']}" for f in answer["files"] if f["problem"]]
    waiting = [s["name"] for s in answer["servers"] if s["status"] == NEEDS_SIGN_IN]
    lines += [f"Sign in with: toolcrib sign-in {quoted(name)}" for name in waiting]
    return "\n".join(lines)
