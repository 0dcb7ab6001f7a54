"""Entry of the command line: parse, run one verb, say what went wrong."""

import argparse
from collections.abc import Sequence

import apsw

from app.cli.console import Console, mend_streams, standard_console
from app.cli.parser import make_parser
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.paths import Paths
from app.core.settings import Settings
from app.doctor.damage import damage_problem
from app.export.recovery import recover
from app.gateway.journal_tail import take_left
from app.policy.profile_policy import follow_all
from app.system.ending import interrupts_held
from store.connection import sentences
from store.errors import REPAIR, DamagedStoreError, StoreError
from store.records import storable

FAILED = 1
USAGE = 2
INTERRUPTED = 130
_DAMAGED = ("malformed JSON", "no such table")  # as SQLite puts it where a query meets it


def run(argv: Sequence[str]) -> int:
    """Run one verb; the exit code (see `toolcrib --help`)."""
    with interrupts_held():
        parser = make_parser(argv)
    return run_parser(parser, argv)


def run_parser(parser: argparse.ArgumentParser, argv: Sequence[str]) -> int:
    """Run the function that the parsed arguments hold as `run`; return its exit code."""
    mend_streams()
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    console = standard_console(as_json=args.json)
    try:
        ctx = _context(args)
        return _run(args, ctx, console)
    except (ToolcribError, StoreError) as error:
        console.note(f"toolcrib: {error.title}")
        if error.hint:
            console.note(f"  {error.hint}")
        return FAILED
    except KeyboardInterrupt:
        console.note("toolcrib: stopped.")
        return INTERRUPTED
    except UnicodeEncodeError:
        if all(map(_is_text, argv)):
            raise
        console.note("toolcrib: An argument is not UTF-8. Write it anew.")
        return FAILED
    except OverflowError:
        console.note("toolcrib: A number is too large. Give a smaller one.")
        return FAILED
    except OSError as error:
        console.note(f"toolcrib: {error.filename or 'A file'} cannot be used: {error.strerror}.")
        return FAILED


def _is_text(argument: str) -> bool:
    """False for one with bytes that are not UTF-8, which are half characters in it."""
    return storable(argument) == argument


def _context(args: argparse.Namespace) -> AppContext:
    """The user's own context; defaults, and nothing cleaned up, for a verb without settings."""
    if not getattr(args, "needs_settings", True):
        return AppContext(Paths.default(), Settings())
    ctx = AppContext.default()
    recover(ctx)
    return ctx


def _look_at_store(ctx: AppContext, console: Console) -> None:
    """Say what is damaged in the store, the verb goes on with the rest; follow policy files."""
    if not ctx.paths.database.is_file():
        return
    with ctx.store() as db:
        problem = damage_problem(db)
        if problem is None:
            follow_all(db)
            take_left(db, str(ctx.paths.home))
    if problem is not None:
        console.note(f"toolcrib: {problem.title}\n  {problem.hint}")


def _run(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """The verb's exit code; what SQLite says becomes a StoreError with a sentence."""
    try:
        if getattr(args, "needs_settings", True):
            with interrupts_held():
                _look_at_store(ctx, console)
        return int(args.run(args, ctx, console))
    except apsw.SQLError as error:
        if not str(error).startswith(_DAMAGED):
            raise
        raise DamagedStoreError(f"The database is damaged: {error}.", REPAIR) from error
    except apsw.Error:
        with sentences(str(ctx.paths.database)):
            raise
