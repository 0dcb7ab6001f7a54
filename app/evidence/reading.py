"""Reads the hosts' own records, each file from where the last reading ended.

Runs on one thread. A file that is torn, foreign, unreadable or enormous costs a note. What was
read is stored file by file, so that a stopped reading goes on where it ended.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from threading import Event
from typing import BinaryIO

import apsw

from app.core.plain_read import open_plain
from app.evidence.formats import (
    FORMATS,
    OPENCODE,
    OPENCODE_FILE,
    RecordedCall,
    RecordedRequest,
    RecordFormat,
    opencode_part,
    parse_line,
)
from store import host_records
from store.connection import transaction
from store.records import HostCall, HostRecord

CHUNK = 4_000_000  # bytes read at once
LONGEST_LINE = 32_000_000  # bytes; a longer line is skipped
KEPT_DAYS = 90
DAY = 86_400.0
MOST_FILES = 100_000


@dataclass(frozen=True, slots=True)
class ReadReport:
    """Outcome of a reading; `notes` are sentences on files that could not be read."""

    files: int = 0
    read: int = 0  # files with something new
    calls: int = 0
    requests: int = 0
    notes: tuple[str, ...] = ()
    stopped: bool = False


Progress = Callable[[int, int], None]


def record_files(home: Path, environ: Mapping[str, str]) -> list[tuple[RecordFormat, Path]]:
    """The records of every host on this machine, the newest first."""
    files: list[tuple[RecordFormat, Path]] = []
    for form in FORMATS:
        files += [(form, path) for path in _files(form.place(home, environ), form.pattern)]
    return sorted(files, key=lambda pair: -_changed(pair[1]))[:MOST_FILES]


def _files(folder: Path, pattern: str) -> Iterator[Path]:
    try:
        yield from folder.glob(pattern)
    except OSError:  # a folder that may not be entered
        return


def _closed(home: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Sentences on folders of records that may not be entered; a search passes them over."""
    for form in FORMATS:
        folder = form.place(home, environ)
        parts = form.pattern.split("/")[:-1]
        for depth in range(len(parts) + 1):
            inside = "/".join(parts[:depth])
            for place in folder.glob(inside) if inside else (folder,):
                if problem := _why_closed(place):
                    yield problem


def _why_closed(place: Path) -> str:
    try:
        with os.scandir(place):
            return ""
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return f"{place}: {error.strerror or error}."


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def read_records(
    db: apsw.Connection,
    home: Path,
    environ: Mapping[str, str],
    now: float,
    *,
    progress: Progress = lambda _done, _total: None,
    cancel: Event | None = None,
) -> ReadReport:
    """Read what is new in every record and store it; call it on a thread that may block."""
    files = record_files(home, environ)
    known = host_records.all_records(db)
    report = ReadReport(files=len(files), notes=tuple(islice(_closed(home, environ), 20)))
    for done, (form, path) in enumerate(files):
        if cancel is not None and cancel.is_set():
            return replace(report, stopped=True)
        progress(done, len(files))
        outcome = _read_file(db, form, path, known.get(str(path)), now, cancel)
        report = _added(report, outcome)
    report = _added(report, _read_opencode(db, home, environ, known, now))
    with transaction(db):
        host_records.prune(db, now - KEPT_DAYS * DAY)
    progress(len(files), len(files))
    return report


@dataclass(frozen=True, slots=True)
class _Outcome:
    calls: int = 0
    requests: int = 0
    problem: str = ""
    fresh: bool = True


def _added(report: ReadReport, outcome: _Outcome) -> ReadReport:
    notes = (*report.notes, outcome.problem) if outcome.problem else report.notes
    return replace(
        report,
        read=report.read + outcome.fresh,
        calls=report.calls + outcome.calls,
        requests=report.requests + outcome.requests,
        notes=notes[:100],
    )


def _read_file(
    db: apsw.Connection,
    form: RecordFormat,
    path: Path,
    known: HostRecord | None,
    now: float,
    cancel: Event | None,
) -> _Outcome:
    try:
        handle = open_plain(path)
    except OSError as error:
        return _Outcome(problem=f"{path}: {error.strerror or error}.", fresh=False)
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(file.fileno())
        record = known or HostRecord(0, form.host, str(path), 0, 0.0)
        if known and (record.size, record.changed) == (about.st_size, about.st_mtime):
            return _Outcome(fresh=False)
        if about.st_mtime < now - KEPT_DAYS * DAY:
            return _Outcome(fresh=False)
        anew = about.st_size < record.position
        if anew:  # the host wrote it from its beginning
            record = replace(record, position=0, last_request="")
        taken = _FileRecords(now, record.last_request)
        file.seek(record.position)
        position, long_lines, whole = record.position, 0, True
        for end, line in whole_lines(file):
            if cancel is not None and cancel.is_set():
                whole = False
                break
            position = end
            long_lines += line is None
            for one in parse_line(form, line) if line is not None else ():
                taken.take(one)
    problem = f"{path}: {long_lines} lines of over 32 MB were skipped." if long_lines else ""
    record = replace(
        record,
        size=about.st_size if whole else position,
        changed=about.st_mtime,
        position=position,
        last_request=taken.last_request,
        problem=problem,
    )
    taken.store(db, record, anew=anew)
    return _Outcome(len(taken.calls), sum(taken.requests.values()), problem)


def whole_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """(position after it, line) of every whole line; None for one that is too long.

    A last line without an end is left for the next reading: the host may still write it.
    """
    position = file.tell()
    rest, skipping = b"", False
    while chunk := file.read(CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            position += len(line) + 1
            yield position, None if skipping else line
            skipping = False
        if len(rest) > LONGEST_LINE:
            position += len(rest)
            rest, skipping = b"", True


class _FileRecords:
    """Records that this reading took from one file."""

    def __init__(self, now: float, last_request: str) -> None:
        self.calls: dict[bytes, HostCall] = {}
        self.requests: Counter[int] = Counter()
        self.last_request = last_request
        self._oldest, self._newest = now - KEPT_DAYS * DAY, now + DAY

    def take(self, one: RecordedCall | RecordedRequest) -> None:
        """Count a call or request; those of another time than the kept days do not count."""
        if not self._oldest <= one.at <= self._newest:
            return
        if isinstance(one, RecordedCall):
            if one.tool:
                digest = hashlib.blake2b(one.call.encode("utf-8", "replace"), digest_size=8)
                key = digest.digest()
                self.calls[key] = HostCall(key, one.server, one.tool, one.at)
        elif one.id != self.last_request:
            self.last_request = one.id
            self.requests[int(one.at // DAY)] += 1

    def store(self, db: apsw.Connection, record: HostRecord, *, anew: bool) -> None:
        """Write it in one transaction with how far the file was read."""
        with transaction(db):
            record_id = host_records.save_record(db, record)
            if anew:
                host_records.forget_calls(db, record_id)
            host_records.add_calls(db, record_id, record.host, self.calls.values())
            host_records.add_requests(db, record_id, sorted(self.requests.items()))


def opencode_file(home: Path, environ: Mapping[str, str]) -> Path:
    """Path of opencode's database."""
    data = environ.get("XDG_DATA_HOME", "")
    return (Path(data) if data else home / ".local" / "share") / OPENCODE_FILE


def _read_opencode(
    db: apsw.Connection,
    home: Path,
    environ: Mapping[str, str],
    known: Mapping[str, HostRecord],
    now: float,
) -> _Outcome:
    """opencode keeps its sessions in a database; it is opened for reading only."""
    path = opencode_file(home, environ)
    if not path.is_file():
        return _Outcome(fresh=False)
    record = known.get(str(path)) or HostRecord(0, OPENCODE, str(path), 0, 0.0)
    taken = _FileRecords(now, record.last_request)
    since = record.position  # milliseconds; parts change until they are complete
    newest = since
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as source:
            source.set_busy_timeout(1_000)
            rows = source.execute(
                "SELECT id, time_updated, data FROM part WHERE time_updated > ?"
                ' AND (data LIKE \'{"type":"tool"%\' OR data LIKE \'%"step-finish"%\')'
                " AND length(data) < 32000000 ORDER BY time_updated",
                (since,),
            )
            for part_id, at, text in rows:
                newest = max(newest, int(at))
                for one in opencode_part(str(part_id), float(at) / 1000, str(text)):
                    taken.take(one)
    except (apsw.Error, ValueError) as error:
        return _Outcome(problem=f"{path}: {error}.", fresh=False)
    taken.store(db, replace(record, position=newest, last_request=taken.last_request), anew=False)
    return _Outcome(len(taken.calls), sum(taken.requests.values()), fresh=newest > since)
