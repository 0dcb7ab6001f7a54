"""`toolcrib policy`: policy files of repositories, and their use for sessions there."""

import argparse
from difflib import unified_diff
from pathlib import Path

from app.catalog.catalog import load_catalog
from app.cli.console import Console, table
from app.cli.options import NEEDS_CONSENT, Verbs, add_group, add_profile, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.export.policy_writing import (
    export_file,
    import_file,
    last_write,
    leave_file,
    undo_write,
    use_file,
)
from app.policy.policy_effect import effect_on
from app.policy.policy_file import FILE_NAME, find_policy
from app.policy.project_policy import known_policies, read_project_policy, trust_file
from store import policies
from store.connection import transaction
from store.records import PolicyTrust
from store.typed import Json


def add(verbs: Verbs) -> None:
    """Add the verb."""
    parts = add_group(
        verbs,
        "policy",
        page="A session of a host in a repository is narrowed by its policy file once you "
        "trust the file's present text. It switches nothing on. docs/policy.md has every key. "
        'JSON of list: {"policies": [{"path", "state", "problem"}]}; of the others {"path", '
        '"state", "problem", "tools", "tokens", "refused"}; of a profile\'s {"path", "profile"}.',
    )
    add_verb(parts, "list", run_list, "files that sessions met")
    for name, words in (
        ("show", "the tools that a file leaves of a profile"),
        ("trust", "use the file as it is now"),
        ("distrust", "stop using a file"),
    ):
        part = add_verb(parts, name, run_one, words)
        part.add_argument("folder", nargs="?", type=Path, default=Path(), help="or the file")
        add_profile(part)
        part.set_defaults(part=name)
    for name, words, run in (
        ("export", "write a profile's values to a new file", run_export),
        ("import", "give a profile the values of a file, once", run_import),
        ("use", "let a profile take its values from a file; one that is missing is made", run_use),
    ):
        part = add_verb(parts, name, run, words)
        part.add_argument("file", type=Path, help="policy.toml")
        add_profile(part)
    undo = add_verb(parts, "undo", run_undo, "take the newest write of a file back")
    undo.add_argument("--yes", action="store_true", help="agree without being asked")
    add_profile(undo)
    add_profile(add_verb(parts, "leave", run_leave, "let a profile keep its own values"))


def run_list(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List the files that sessions met."""
    with ctx.store() as db:
        known = known_policies(db)
    value: Json = {
        "policies": [{"path": p.path, "state": p.state, "problem": p.problem} for p in known]
    }
    rows = [["file", "state"], *([p.path, p.state] for p in known)]
    none = "No session has met a policy file yet."
    console.result(value, lambda: table(rows) if known else none)
    return 0


def run_one(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Show, trust or distrust one file."""
    path = _file(args.folder)
    with ctx.store() as db:
        if args.part == "distrust":
            if not policies.trust_of(db, str(path)).digest:
                raise ToolcribError(f"{path} was not trusted.")
            with transaction(db):
                policies.set_trust(db, str(path), PolicyTrust(), ctx.clock())
        read = (
            trust_file(db, path, ctx.clock())
            if args.part == "trust"
            else read_project_policy(db, str(path), ctx.clock())
        )
        if read.problem:
            raise ToolcribError("The policy file cannot be used.", read.problem)
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
    effect = effect_on(catalog, read.policy)
    value: Json = {
        "path": read.path,
        "state": read.state,
        "problem": read.problem,
        "tools": effect.tools[1],
        "tokens": effect.tokens[1],
        "refused": list(effect.refused),
    }
    lines = [
        f"{read.path}: {read.state}.",
        effect.summary,
        *effect.notes,
        *(f"Refused: {line}" for line in effect.refused),
    ]
    if not read.trusted:
        lines.append(f"It does not count yet. Trust it: toolcrib policy trust {path}")
    console.result(value, lambda: "\n".join(lines))
    return 0


def run_export(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Write a profile's values to a new file."""
    with ctx.store() as db:
        path = export_file(db, args.profile, args.file)
    return _done(args, console, path, f"Wrote the values of the profile {args.profile} to {path}.")


def run_import(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Give a profile the values of a file, once."""
    with ctx.store() as db:
        import_file(db, args.profile, args.file)
    words = f"The profile {args.profile} has the values of {args.file} now."
    return _done(args, console, args.file, words)


def run_use(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Let a profile take its values from a file."""
    with ctx.store() as db:
        use_file(db, args.profile, args.file)
    words = (
        f"The profile {args.profile} takes its values from {args.file} from now on."
        " Changes made here are written to it. Undo: toolcrib policy leave"
    )
    return _done(args, console, args.file, words)


def run_leave(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Let a profile keep its own values."""
    with ctx.store() as db:
        step = leave_file(db, args.profile)
    path = step.file.path if step.file else ""
    words = f"The profile {args.profile} keeps its values itself. {path} stays as it is."
    return _done(args, console, path, words)


def run_undo(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Take the newest write of a profile's policy file back, after a look at the difference."""
    with ctx.store() as db:
        write = last_write(db, args.profile, ctx.paths)
        if not args.yes:
            now, then = (text.decode(errors="replace") for text in (write.present, write.before))
            lines = unified_diff(
                now.splitlines(), then.splitlines(), write.path, write.path, lineterm="", n=2
            )
            console.note("\n".join(lines))
            refused = "Nothing was written. To agree without being asked, add --yes."
            if not console.agrees("Write this?", refused):
                return NEEDS_CONSENT
        undo_write(db, args.profile, write, paths=ctx.paths, at=ctx.clock())
    words = f"{write.path} is as it was before the newest write. The text until now is kept."
    return _done(args, console, write.path, words)


def _done(args: argparse.Namespace, console: Console, path: Path | str, words: str) -> int:
    console.result({"path": str(path), "profile": args.profile}, lambda: words)
    return 0


def _file(place: Path) -> Path:
    place = place.absolute()
    if place.is_file():
        return place
    path = find_policy(place)
    if path is None:
        raise ToolcribError(
            f"{place} has no {FILE_NAME}.", "docs/policy.md shows how to write one."
        )
    return path
