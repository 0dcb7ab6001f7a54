"""A writer that is killed, or meets a failing disk, among exchanges with a host that writes too."""

import errno
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from app.core.errors import ToolcribError
from app.export import write_journal, writing
from app.export.write_journal import one_writer
from app.hosts.reading import hash_bytes

BEFORE, OURS = b'{"a": 1}', b'{"ours": 1}'
ROUNDS = 3  # exchanges before which the host writes


class Bed:
    """A host that writes its file anew before each of the first exchanges of a traced writer."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.host = folder / "host"
        for made in (folder, self.home, self.host):
            made.mkdir()
        self.file = self.host / "mcp.json"
        self.file.write_bytes(BEFORE)
        self.writes, self.exchanges = 0, 0

    def on(self, _index: int, name: str) -> None:
        """Called while the writer waits for the call."""
        if name == "renameat2":
            self.exchanges += 1
            if self.exchanges <= ROUNDS:
                self.writes += 1
                beside = self.host / "host.new"
                beside.write_bytes(self.version(self.writes))
                beside.replace(self.file)

    @staticmethod
    def version(number: int) -> bytes:
        return b'{"host": %d}' % number if number else BEFORE

    def write(self) -> None:
        with one_writer(self.home) as journal:
            writing.replace_file(self.file, OURS, expected=hash_bytes(BEFORE), journal=journal)

    def settle(self) -> None:
        with one_writer(self.home):
            pass

    def newest(self) -> bytes:
        return self.version(self.writes)

    def files(self) -> set[bytes]:
        return {file.read_bytes() for file in self.host.iterdir()}


def steps(faults: ModuleType, bed: Bed, action: Callable[[], None]) -> range:
    """Numbers of the calls that change files, of a run that nothing ends."""
    return range(len(faults.run(action, on=bed.on).calls))


def test_a_kill_at_any_step_of_any_exchange_leaves_the_hosts_newest_write(faults, tmp_path):
    rounds = 0
    for at in steps(faults, bed := Bed(tmp_path / "first"), bed.write):
        bed = Bed(tmp_path / str(at))
        faults.run(bed.write, at=at, on=bed.on)
        rounds = max(rounds, bed.writes)
        bed.settle()
        assert bed.file.read_bytes() == bed.newest(), f"killed at {at}"
        assert [file.name for file in bed.host.iterdir()] == ["mcp.json"], f"killed at {at}"
    assert rounds == ROUNDS


@pytest.mark.parametrize("exchange", range(1, ROUNDS + 2))
def test_the_settling_may_be_killed_too_while_the_host_writes_on(faults, tmp_path, exchange):
    counted = Bed(tmp_path / "counted")
    calls = faults.run(counted.write, on=counted.on).calls
    killed = [at for at, name in enumerate(calls) if name == "renameat2"][exchange - 1] + 1

    def made(name: str) -> Bed:
        bed = Bed(tmp_path / name)
        assert faults.run(bed.write, at=killed, on=bed.on).code < 0
        bed.exchanges = 0  # the host goes on writing
        return bed

    for at in steps(faults, bed := made("first"), bed.settle):
        bed = made(str(at))
        faults.run(bed.settle, at=at, on=bed.on)
        bed.settle()
        assert bed.file.read_bytes() == bed.newest(), f"killed at {at}"
        assert [file.name for file in bed.host.iterdir()] == ["mcp.json"], f"killed at {at}"


def test_a_disk_that_fails_at_any_step_loses_no_write_of_the_host(faults, tmp_path):
    for at in steps(faults, bed := Bed(tmp_path / "first"), bed.write):
        bed = Bed(tmp_path / str(at))
        faults.run(bed.write, at=at, fault=errno.EIO, on=bed.on)
        assert bed.file.read_bytes() == bed.newest(), f"failed at {at}"
        bed.settle()
        assert bed.newest() in bed.files(), f"failed at {at}"


def test_a_version_that_can_nowhere_be_put_back_is_named(tmp_path, monkeypatch):
    bed, real = Bed(tmp_path / "bed"), writing.exchange

    def exchange(one: str, other: str) -> bool:
        bed.on(0, "renameat2")
        return real(one, other)

    def broken(*_args: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(writing, "exchange", exchange)
    monkeypatch.setattr(writing, "put_newest_back", broken)
    monkeypatch.setattr(write_journal, "resume", broken)
    with pytest.raises(ToolcribError) as caught:
        bed.write()
    kept = caught.value.hint.removeprefix("Its newest version may be in ").removesuffix(".")
    assert Path(kept).read_bytes() == bed.newest() != bed.file.read_bytes()


def test_a_version_that_cannot_be_read_goes_back_unread(tmp_path, monkeypatch):
    bed = Bed(tmp_path / "bed")
    real, seen = writing.is_settled, []

    def broken(path: str, expected: object) -> bool:
        seen.append(path)
        if len(seen) == 1:
            bed.host.joinpath("host.new").write_bytes(b"newest")
            bed.host.joinpath("host.new").replace(bed.file)
            raise OSError(errno.EIO, "Input/output error")
        return real(path, expected)

    monkeypatch.setattr(writing, "is_settled", broken)
    with pytest.raises(ToolcribError):
        bed.write()
    assert bed.files() == {b"newest"}
