"""The list of checks: each looks at one thing and returns results; none starts or writes anything.

A new check is one function here and its name in CHECKS.
"""

import os
import platform
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.logs import redact
from app.core.own_code import own_version
from app.core.paths import gateway_program
from app.core.settings import Settings
from app.core.text import plural
from app.encoder.onnx import Encoder
from app.encoder.weights import ready_model
from app.hosts.places import Places
from app.hosts.reading import read_hosts
from app.system.desktop import libraries_problem
from store.connection import sentences
from store.damage import damaged_rows, missing_tables
from store.errors import REPAIR, DamagedStoreError, StoreError
from store.migrate import version as store_version

GOOD, NOTE, BAD = "ok", "note", "problem"
_DAMAGED_SHOWN = 10
LEAST_ROOM = 100_000_000  # bytes; a scan of a large catalogue writes some of that
_QUERY, _QUERIES = "merge the release branch", 5
_SLOW_QUERY = 0.05  # seconds of CPU; a laptop takes .002


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of one check; holds no secret value and no name of the user's home folder."""

    check: str
    text: str
    state: str = GOOD
    hint: str = ""  # what to do next, "" when there is nothing to do


Check = Callable[[AppContext], Iterator[Result]]


def _version(_ctx: AppContext) -> Iterator[Result]:
    yield Result("version", f"Toolcrib {own_version()}")


def _platform(_ctx: AppContext) -> Iterator[Result]:
    frozen = ", bundled" if getattr(sys, "frozen", False) else ""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield Result("platform", f"{system}, Python {platform.python_version()}{frozen}")


def _paths(ctx: AppContext) -> Iterator[Result]:
    yield Result("home", str(ctx.paths.home))
    yield Result("models", str(ctx.paths.models))
    program = gateway_program()
    if program.is_file():
        yield Result("gateway program", str(program))
    else:
        hint = "Install Toolcrib again: hosts start this program."
        yield Result("gateway program", f"{program} is missing", BAD, hint)


def _disk(ctx: AppContext) -> Iterator[Result]:
    """The room where Toolcrib's own files are, or would be made."""
    folder = next(one for one in (ctx.paths.home, *ctx.paths.home.parents) if one.is_dir())
    free = shutil.disk_usage(folder).free
    text = f"{free // 1_000_000:,} MB free"
    if free < LEAST_ROOM:
        hint = "Make room on it: without, nothing is read anew and no host's file is written."
        yield Result("disk", text, BAD, hint)
    else:
        yield Result("disk", text)


def _settings(ctx: AppContext) -> Iterator[Result]:
    file = ctx.paths.settings_file
    try:
        Settings.load(file)
    except ToolcribError as error:
        yield Result("settings", error.title, BAD, error.hint)
        return
    yield Result("settings", str(file) if file.exists() else "defaults (no file)")


def _store(ctx: AppContext) -> Iterator[Result]:
    file = ctx.paths.database
    if not file.exists():
        yield Result("store", "not made yet", NOTE, "Read your servers with: toolcrib scan")
        return
    try:
        with (
            sentences(str(file)),
            closing(apsw.Connection(str(file), apsw.SQLITE_OPEN_READONLY)) as db,
        ):
            yield from _looked_through(db)
    except StoreError as error:
        # a repair helps where the file is damaged only, not where the disk is full
        hint = REPAIR if isinstance(error, DamagedStoreError) else error.hint
        yield Result("store", error.title, BAD, hint or REPAIR)


def _looked_through(db: apsw.Connection) -> Iterator[Result]:
    report = [row[0] for row in db.execute("PRAGMA quick_check(3)")]
    if report != ["ok"]:
        parts = [part for row in report for part in str(row).splitlines()]
        damage = "; ".join(part for part in parts if not part.startswith("***"))
        yield Result("store", f"damaged: {damage}", BAD, REPAIR)
        return
    if missing := missing_tables(db):
        yield Result("store", f"without its table {', '.join(missing)}", BAD, REPAIR)
        return
    rows = list(damaged_rows(db))
    for row in rows[:_DAMAGED_SHOWN]:
        yield Result("store", row.sentence, BAD, REPAIR)
    if len(rows) > _DAMAGED_SHOWN:
        yield Result("store", f"{len(rows) - _DAMAGED_SHOWN} more are damaged", BAD, REPAIR)
    sql = (
        "SELECT (SELECT count(*) FROM servers), (SELECT count(*) FROM tools),"
        " (SELECT count(*) FROM profiles)"
    )
    ((servers, tools, profiles),) = db.execute(sql)
    counts = f"{plural(servers, 'server')}, {plural(tools, 'tool')}, {plural(profiles, 'profile')}"
    yield Result("store", f"version {store_version(db)}: {counts}")


def _encoder(ctx: AppContext) -> Iterator[Result]:
    """The encoder of the settings, and what it costs on this machine in CPU of this process."""
    try:
        name = Settings.load(ctx.paths.settings_file).model
    except ToolcribError:
        return  # the check of the settings says it
    model = ready_model(ctx.paths, name)
    if model is None:
        hint = "The next scan prepares it; without it the search is by words only."
        yield Result("encoder", f"{name} is not prepared", NOTE, hint)
        return
    yield Result("encoder", f"{model.key}, {model.dims} dimensions")
    try:
        began = time.process_time()
        encoder = Encoder.load(model)
        loading = time.process_time() - began
    except ToolcribError as error:
        yield Result("speed", error.title, BAD, error.hint)
        return
    query = statistics.median(_timed(encoder, f"{_QUERY} {n}") for n in range(_QUERIES))
    text = f"loading the encoder {loading * 1000:.0f} ms, reading a query {query * 1000:.1f} ms"
    slow = query > _SLOW_QUERY
    hint = "Searches by meaning will be slow here; --words-only does without the encoder."
    yield Result("speed", f"{text} (CPU)", NOTE if slow else GOOD, hint if slow else "")


def _timed(encoder: Encoder, query: str) -> float:
    began = time.process_time()
    encoder.encode([query], query=True)
    return time.process_time() - began


def _hosts(_ctx: AppContext) -> Iterator[Result]:
    readings = read_hosts(Places.here())
    for reading in readings:
        ways = f", through profile {reading.through}" if reading.through else ""
        count = plural(len(reading.entries), "server")
        text = f"{reading.host.name}: {reading.file}, {count}{ways}"
        if reading.problem:
            yield Result(
                "host", f"{text}. {reading.problem}", BAD, "Correct the file, then scan again."
            )
        else:
            yield Result("host", text)
    if not readings:
        yield Result("host", "no host's file was seen", NOTE)


def _window(_ctx: AppContext) -> Iterator[Result]:
    """The libraries of a desktop; a machine without one has no use for them."""
    problem, _, hint = libraries_problem(os.environ).partition("\n")
    yield Result("window", problem or "its libraries are there", NOTE if problem else GOOD, hint)


CHECKS: tuple[Check, ...] = (
    _version,
    _platform,
    _window,
    _paths,
    _disk,
    _settings,
    _store,
    _encoder,
    _hosts,
)


def examine(ctx: AppContext) -> tuple[Result, ...]:
    """The results of every check, without what should not be in an issue."""
    return tuple(_shared(result) for check in CHECKS for result in check(ctx))


def _shared(result: Result) -> Result:
    return Result(result.check, shareable(result.text), result.state, shareable(result.hint))


def shareable(text: str) -> str:
    """The text with the home folder as `~` and without what looks like a secret."""
    home = str(Path.home())
    return redact(text.replace(home, "~") if len(home) > 1 else text)
