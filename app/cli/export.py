"""`toolcrib hosts`, `export` and `restore`: what the hosts have, and writing their files."""

import argparse
import difflib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from app.catalog.catalog import Catalog, load_catalog
from app.cli.console import Console, number, table
from app.cli.options import NEEDS_CONSENT, Verbs, add_dry_run, add_profile, add_verb
from app.core.context import AppContext, Db
from app.core.errors import ToolcribError, errors_of
from app.export import apply as writes
from app.export.http.of_team import VARIABLE
from app.export.links import link_note
from app.export.masking import DiffFile, masked_diff
from app.export.plan import MODES, Plan
from app.gateway.backend.http_access import endpoint, listening
from app.hooks.files import HookRemoval, remove_all
from app.host_status.drift import OUTSIDE, dropped, find_drift, restore_effect
from app.host_status.entry_taken import register_taken_back
from app.host_status.overview import prepare, survey, written_verdict
from app.host_status.own_search import advised, look
from app.host_status.sizes import host_sizes
from app.host_status.status import NOT_FOUND, HostStatus
from app.hosts.facts import HostFacts, host, load_hosts
from app.hosts.places import Places
from app.policy.budget import Verdict
from app.policy.profiles import DEFAULT
from store import exports
from store.records import AS_IS, NATIVE, THROUGH, ExportRecord
from store.typed import Json


def add(verbs: Verbs) -> None:
    """Add the verbs."""
    hosts = add_verb(
        verbs,
        "hosts",
        run_hosts,
        page='JSON: {"hosts": [{"id", "name", "files": [{"path", "scope", "servers", '
        '"problem"}], "state", "mode", "http", "profile", "changes", "modes", "recommended", '
        '"reason", "saving", "exports", "tools", "tokens", "later", "behind", '
        '"own_search"}]}; "http": its entry is a URL; "behind": the servers that its one entry '
        'reaches; "tokens" is what the model gets at its first request, "later" what the '
        'host loads on demand; "own_search" is '
        "null, or what the host finds of your labelled queries by itself beside Toolcrib: "
        '{"host", "queries", "own", "ours", "words_only", "hinted": with the search hints that '
        "gateway.search_hints adds to pruned servers}; with --all also hosts that are not "
        "here.",
    )
    hosts.add_argument("--all", action="store_true", help="every host Toolcrib knows")
    hosts.add_argument("--project", type=Path, metavar="DIR", help="also this project's files")
    add_profile(hosts)
    export = add_verb(
        verbs,
        "export",
        run_export,
        page='JSON: {"host", "mode", "http", "profile", "written", "files": [{"path", '
        '"changes", "backup"}], "warnings", "tokens_before", "tokens_after", "later", '
        '"tools_before", "tools_after", "behind", "also", "secrets_moved", "restart"}; "behind": '
        "servers that the one entry reaches, by default those that the host has; "
        '"also": those of them that only other hosts have. --dry-run writes '
        "nothing and shows the difference, secrets masked. --link writes nothing either; JSON: "
        '{"host", "link", "behind"}.',
    )
    export.add_argument("host", help="an id: see toolcrib hosts --all")
    export.add_argument(
        "--mode",
        choices=MODES,
        required=True,
        help="native: the host's own keys leave tools out; pruned: the gateway leaves them out; "
        "through: one small menu; as-is: as before Toolcrib",
    )
    export.add_argument(
        "--http",
        action="store_true",
        help="with through: the URL of the HTTP endpoint instead of a command; of a team profile,"
        " of the team's gateway",
    )
    export.add_argument(
        "--also",
        action="append",
        default=None,
        metavar="SERVER",
        help="with through: a server that another host has; those added before are kept",
    )
    export.add_argument(
        "--own-only",
        action="store_true",
        help="with through: no server of another host, whatever was added before",
    )
    export.add_argument("--project", type=Path, metavar="DIR", help="the project's file instead")
    add_dry_run(export)
    export.add_argument(
        "--link",
        action="store_true",
        help="with through: print an install link instead of writing, where the host takes one",
    )
    export.add_argument("--insist", action="store_true", help="write even if the host is running")
    export.add_argument(
        "--yes",
        action="store_true",
        help="switch the HTTP endpoint on, write a team token or a config over the budget, without"
        " asking",
    )
    add_profile(export)
    restore = add_verb(
        verbs,
        "restore",
        run_restore,
        page='JSON: {"restored": [PATH]}. "all" restores every host; hooks and rules go too;'
        " --last takes only the newest write about servers back. Changes made since Toolcrib wrote"
        " are shown, and dropped only when you agree or with --yes; the present file is kept as a"
        " copy.",
    )
    restore.add_argument("host", help="an id, or all")
    restore.add_argument("--last", action="store_true", help="only the newest write")
    restore.add_argument("--yes", action="store_true", help="drop later changes without asking")


def run_hosts(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List the hosts."""
    places = Places.here(args.project)
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        statuses = survey(db, places, catalog, endpoint=endpoint(ctx))
        seen = look(db, ctx.paths, ctx.settings.model, statuses, catalog)
        hosts = [
            _host_json(
                advised(status, seen.get(status.host.id)), exports.for_host(db, status.host.id)
            )
            | _size_json(status, catalog)
            | {"own_search": asdict(seen[status.host.id]) if status.host.id in seen else None}
            for status in statuses
            if status.state != NOT_FOUND or args.all
        ]
    console.result({"hosts": hosts}, lambda: _hosts_text(hosts))
    return 0


def run_export(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Plan, show or write."""
    known = [facts.id for facts in load_hosts()]
    if args.host not in known:
        near = difflib.get_close_matches(args.host, known, 1)
        hint = f"Did you mean {near[0]}?" if near else "See: toolcrib hosts --all"
        raise ToolcribError(f"There is no host called {args.host}.", hint)
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        made = prepare(
            db,
            Places.here(args.project),
            catalog,
            host_id=args.host,
            mode=args.mode,
            endpoint=endpoint(ctx) if args.http else None,
            also=() if args.own_only else None,
            more=args.also or (),
        )
        if args.link:
            return _show_link(made, console)
        if made.refusal:
            raise ToolcribError(made.refusal, _to_paste(made))
        for warning in made.warnings:
            console.note(f"note: {warning}")
        done: tuple[ExportRecord, ...] = ()
        if not args.dry_run and (made.files or made.over_http):  # a file may be right already
            if made.files and not _may_be_over(written_verdict(made, catalog), args, console):
                return NEEDS_CONSENT
            if not (_may_give_token if made.of_team else _may_listen)(made, args, console):
                return NEEDS_CONSENT
            with listening(ctx) if made.over_http and not made.of_team else nullcontext():
                done = writes.apply(made, ctx, db, insist=args.insist) if made.files else ()
    value = _plan_json(made, done)
    console.result(value, lambda: _plan_text(made, done))
    return 0


def _show_link(made: Plan, console: Console) -> int:
    """Print the link by which the host adds the entry itself."""
    if not made.link:
        raise ToolcribError(
            f"There is no install link for {made.host.name} in this mode.",
            made.refusal or "Write its file instead: leave out --link.",
        )
    console.note(link_note(made.host, over_http=made.over_http))
    value = {"host": made.host.id, "link": made.link, "behind": list(made.behind)}
    console.result(value, lambda: made.link)
    return 0


def _may_be_over(outcome: Verdict, args: argparse.Namespace, console: Console) -> bool:
    """True if the budget lets it be written; raises ToolcribError where the profile refuses it."""
    if outcome.refuses:
        raise ToolcribError(
            f"Not written, as the profile refuses it: {outcome.why_blocked}",
            "Turn tools off (toolcrib check --suggest), or: toolcrib profile set"
            " budget.on_block=report",
        )
    refused = f"Nothing was written: {outcome.why_blocked} To write it anyway, add --yes."
    question = f"{outcome.why_blocked} Write anyway?"
    return console.agrees(question, refused, yes=args.yes or not outcome.asks)


def _may_listen(made: Plan, args: argparse.Namespace, console: Console) -> bool:
    """True if the endpoint may be switched on, where it is off and the host needs it."""
    if made.endpoint is None or made.endpoint.on:
        return True
    question = f"Switch the HTTP endpoint on, at 127.0.0.1:{made.endpoint.port}?"
    refused = "Nothing was written. Switch it on with: toolcrib backend http on, or with --yes."
    return console.agrees(question, refused, yes=args.yes)


def _may_give_token(made: Plan, args: argparse.Namespace, console: Console) -> bool:
    """True if the member's token may be written in clear, where the host needs it."""
    where = ", ".join(str(file.path) for file in made.files)
    refused = f"Nothing was written. Set {VARIABLE}, or write the token itself with --yes."
    yes = args.yes or not made.gives_token
    return console.agrees(f"Write your team token into {where}?", refused, yes=yes)


def run_restore(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Take writes back."""
    unhooked = HookRemoval((), ())
    problems: tuple[str, ...] = ()
    with ctx.store() as db:
        if not args.last and not _may_drop(args, db, console):
            return NEEDS_CONSENT
        if args.host == "all":
            restored = writes.restore_all(ctx, db)
            done, problems = restored.records, restored.problems
            unhooked = remove_all(ctx, db, words=True)
        elif args.last:
            done = writes.undo_host(host(args.host).id, ctx, db)
        else:
            done, unhooked = _restored(_known(args.host), ctx, db)
        register_taken_back(ctx, db, Places.here(None), done)
    paths = list(dict.fromkeys([*(record.file for record in done), *map(str, unhooked.paths)]))
    kept = [f"The file as it was is kept as {record.backup}" for record in done if record.backup]
    lines = ["Restored:" if paths else "Nothing to restore.", *paths, *([] if args.last else kept)]
    if problems and not paths:
        lines = ["Nothing was restored."]
    for problem in problems:
        console.note(f"Not restored: {problem}")
    for problem in unhooked.problems:
        console.note(f"The hook stays: {problem}")
    console.result({"restored": paths}, lambda: "\n".join(lines))
    return 1 if problems or unhooked.problems else 0


def _host_json(status: HostStatus, history: Sequence[ExportRecord]) -> Json:
    return {
        "id": status.host.id,
        "name": status.host.name,
        "state": status.state,
        "mode": status.mode,
        "http": status.http,
        "profile": status.profile,
        "changes": status.changes,
        "problem": status.problem,
        "files": [
            {
                "path": str(r.file),
                "scope": r.scope,
                "servers": [entry.name for entry in r.entries],
                "problem": r.problem,
            }
            for r in status.readings
        ],
        "modes": _modes(status.host),
        "recommended": status.recommendation.mode,
        "reason": status.recommendation.reason,
        "saving": status.recommendation.saving,
        "exports": [_write(r) for r in history],
    }


def _may_drop(args: argparse.Namespace, db: Db, console: Console) -> bool:
    """Print the later changes of the files that would be lost; True if the user agrees."""
    every = args.host == "all"
    lost = restore_effect(db)[1] if every else dropped(find_drift(exports.for_host(db, args.host)))
    for sentence in lost:
        console.note(f"Dropped by restoring: {sentence}")
    refused = "Nothing was restored. To drop these changes without being asked, add --yes."
    if not every:
        refused += f" Write by write keeps them: toolcrib restore {args.host} --last"
    return console.agrees("Restore and drop these changes?", refused, yes=args.yes or not lost)


def _size_json(status: HostStatus, catalog: Catalog) -> Json:
    size = next(iter(host_sizes([status], catalog)), None)
    if size is None:
        way = {"mode": AS_IS} if status.state == OUTSIDE else {}  # its write is in the file no more
        return way | {"tools": 0, "tokens": 0, "later": 0, "behind": []}
    return {
        "mode": size.mode,
        "tools": size.sent.count,
        "tokens": size.sent.tokens,
        "later": size.sent.later,
        "behind": list(size.behind),
    }


def _restored(
    host_id: str, ctx: AppContext, db: Db
) -> tuple[tuple[ExportRecord, ...], HookRemoval]:
    """A host's servers as they were, then its hook and our words out."""
    done = writes.restore_host(host_id, ctx, db) if writes.has_writes_in(host_id, db) else ()
    unhooked = remove_all(ctx, db, words=True, only=host_id)
    if done or unhooked.paths or unhooked.problems:
        return done, unhooked
    with errors_of(host_id):
        return writes.restore_host(host_id, ctx, db), unhooked  # which says why there is nothing


def _known(host_id: str) -> str:
    try:
        return host(host_id).id
    except ToolcribError as error:
        raise ToolcribError(f"{error.title} ({host_id})", error.hint) from error


def _modes(facts: HostFacts) -> list[str]:
    if not facts.writable:
        return [AS_IS]
    return [mode for mode in MODES if mode != NATIVE or facts.native is not None]


def _write(record: ExportRecord) -> dict[str, object]:
    return {
        "id": record.id,
        "at": record.at,
        "file": record.file,
        "mode": record.mode,
        "profile": record.profile,
        "undone": bool(record.undone_at),
    }


def _plan_json(made: Plan, done: tuple[ExportRecord, ...]) -> Json:
    backups = {record.file: record.backup for record in done}
    return {
        "host": made.host.id,
        "mode": made.mode,
        "http": made.over_http,
        "profile": made.profile,
        "written": bool(done),
        "files": [
            {
                "path": str(file.path),
                "changes": list(file.changes),
                "backup": backups.get(str(file.path), ""),
            }
            for file in made.files
        ],
        "warnings": list(made.warnings),
        "tokens_before": made.tokens_before,
        "tokens_after": made.tokens_after,
        "later": made.later,
        "tools_before": made.tools_before,
        "tools_after": made.tools_after,
        "behind": list(made.behind),
        "also": list(made.also),
        "secrets_moved": [name for name, _ in made.secrets_to_store],
        "restart": made.restart_hint,
    }


def _to_paste(made: Plan) -> str:
    if made.link:
        words = f"toolcrib export {made.host.id} --mode through --link"
        return f"{made.host.name} can add the entry itself, from an install link: {words}"
    return f"To paste into its settings:\n{made.snippet}".rstrip() if made.snippet else ""


def _plan_text(made: Plan, done: tuple[ExportRecord, ...]) -> str:
    if made.empty and not made.matched and made.mode not in (AS_IS, THROUGH):
        return (
            f"Nothing to write: no file of {made.host.name} names a server that is trusted and"
            " read. See: toolcrib scan, toolcrib trust NAME"
        )
    if made.empty:
        return f"{made.host.name} is in sync: nothing to write."
    lines = []
    if not done:
        lines += shown_difference(made)
    for file in made.files:
        lines.append(f"{file.path}: {'; '.join(file.changes)}")
    lines.append(
        f"{number(made.tokens_before)} -> {number(made.tokens_after)} tokens ≈,"
        f" {made.tools_before} -> {made.tools_after} tools"
        + (f"; {number(made.later)} more on demand" if made.later else "")
        + (f"; not counted: {', '.join(made.unread)}" if made.unread else "")
    )
    if done:
        lines += [f"The old file is kept as {r.backup}" for r in done if r.backup]
        last = " --last" if made.mode == AS_IS else ""
        lines.append(f"Take it back with: toolcrib restore {made.host.id}{last}")
        lines += [f"To load it: {made.restart_hint}"] if made.restart_hint else []
    else:
        lines.append("Nothing was written (--dry-run).")
    return "\n".join(lines)


def shown_difference(made: Plan) -> list[str]:
    """Changes of a plan to its files, line by line, secrets masked."""
    return [line for diff in masked_diff(made) for line in _difference(diff)]


def _difference(diff: DiffFile) -> list[str]:
    """Difference with masked values; a mark, which is not shown, keeps unlike values apart."""
    name, mark = str(diff.path), "\0"
    before = [left for left, _ in diff.pairs if left is not None]
    after = [
        right + (mark if number in diff.hidden else "")
        for number, (_, right) in enumerate(diff.pairs)
        if right is not None
    ]
    lines = difflib.unified_diff(before, after, name, name, lineterm="", n=2)
    return [line.removesuffix(mark) for line in lines]


def _hosts_text(hosts: list[Json]) -> str:
    if not hosts:
        return "No host was found here. See every known one with: toolcrib hosts --all"
    rows = [["host", "servers", "way", "tokens ≈", "state", "recommended", "why"]]
    problems = [f"{one['id']}: {one['problem']}" for one in hosts if one["problem"]]
    for one in hosts:
        count = sum(len(file["servers"]) for file in one["files"]) + len(one["behind"])
        state = one["state"]
        if one["profile"] not in ("", DEFAULT):
            state = f"{state}, profile {one['profile']}"
        tokens = f"{number(one['tokens'])}{' +on demand' if one['later'] else ''}"
        way = [one["id"], str(count), one["mode"], tokens]
        advice = [one["recommended"], one["reason"]]
        rows.append([*way, state, *(["", "see below"] if one["problem"] else advice)])
    return "\n".join([table(rows, right=frozenset({1, 3})), *problems])
