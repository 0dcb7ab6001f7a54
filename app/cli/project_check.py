"""`toolcrib check --project` and `toolcrib lock`: a repository's tools against policy and lock."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from app.cli.console import Console
from app.cli.options import NEEDS_CONSENT, Verbs, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural
from app.policy.budget import BLOCK, WARN
from app.policy.check_formats import OBJECTS, TEXTS
from app.policy.lock import FILE_NAME, ReadServer, make_lock, write_lock
from app.policy.project_check import check_project
from app.registry.project import ProjectServer, project_servers, read_project
from app.tokens.counters import counter

OVER_BUDGET = 4


def add(verbs: Verbs) -> None:
    """Add the verb `lock`; `check --project` is added by app.cli.footprint."""
    locks = add_verb(
        verbs,
        "lock",
        run_lock,
        page="Starts the servers that a project's own files name, asks each for its tools "
        f"and writes {FILE_NAME}. Commit it; toolcrib check --project then names every changed "
        'text and every added token. JSON: {"file", "servers", "tools", "tokens"}.',
    )
    locks.add_argument(
        "--project", type=Path, default=Path(), metavar="DIR", help="default: this folder"
    )
    locks.add_argument("--yes", action="store_true", help="start the servers without asking")


def run_lock(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Read the project's servers and write the lock; nothing is written if one fails."""
    project = _folder(args.project)
    servers = _servers(project)
    if not _agreed(servers, console, yes=args.yes):
        return NEEDS_CONSENT
    read = _read(servers, console)
    failed = [one for one in read if one.problem]
    if failed:
        raise ToolcribError(
            f"{failed[0].name} could not be read: {failed[0].problem}",
            "The lock was not written. Repair the server, or remove it from the project's file.",
        )
    lock = make_lock(read, counter(ctx.settings.encoding))
    path = project / FILE_NAME
    write_lock(lock, path)
    tools, tokens = len(lock.tools()), sum(server.tokens for server in lock.servers)
    value = {"file": str(path), "servers": len(lock.servers), "tools": tools, "tokens": tokens}
    text = f"{plural(len(lock.servers), 'server')}, {plural(tools, 'tool')}, {tokens:,} tokens"
    console.result(value, lambda: f"Wrote {path}: {text}. Commit it.")
    return 0


def run_project_check(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Judge the repository; exit code 4 where the verdict is the one of --fail-on or worse."""
    project = _folder(args.project)
    read = None
    if args.start:
        servers = _servers(project)
        if not _agreed(servers, console, yes=args.yes):
            return NEEDS_CONSENT
        read = _read(servers, console)
    report = check_project(project, read=read, counter=counter(ctx.settings.encoding))
    form = "json" if console.as_json else args.format
    if form in OBJECTS:
        value = OBJECTS[form](report)
        console.result(value, lambda: json.dumps(value, ensure_ascii=True, indent=2))
    else:
        console.result({}, lambda: TEXTS[form](report))
    failing = (BLOCK,) if args.fail_on == "block" else (WARN, BLOCK)
    return OVER_BUDGET if report.word in failing else 0


def _folder(project: Path) -> Path:
    folder = project.absolute()
    if not folder.is_dir():
        raise ToolcribError(f"There is no folder {folder}.", "Name the project's folder.")
    return folder


def _servers(project: Path) -> tuple[ProjectServer, ...]:
    servers = project_servers(project)
    if not servers:
        raise ToolcribError(
            f"No file of {project} names a server.",
            "Toolcrib reads .mcp.json, .cursor/mcp.json, .vscode/mcp.json and their like.",
        )
    return servers


def _agreed(servers: Sequence[ProjectServer], console: Console, *, yes: bool) -> bool:
    """The user's consent: --yes, or an answer to the list of commands."""
    if yes:
        return True
    console.note("These commands would be started, asked for their tools, and stopped:")
    for server in servers:
        for line in server.text.under(server.name):
            console.note(line)
    refused = "Nothing was started. To start them without being asked, add --yes."
    return console.agrees("Start them?", refused)


def _read(servers: Sequence[ProjectServer], console: Console) -> tuple[ReadServer, ...]:
    """Read the servers with a line of progress; Ctrl+C stops them all."""
    done: list[ReadServer] = []

    def on_read(read: ReadServer) -> None:
        done.append(read)
        console.progress(f"{len(done)} of {len(servers)} servers done")

    return read_project(servers, on_read=on_read)
