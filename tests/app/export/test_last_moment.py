"""What a host writes around the exchange of its file: the newest write stays."""

from pathlib import Path

import pytest

from app.core import safe_write
from app.core.errors import ToolcribError
from app.export import exchanging, writing
from app.export.write_journal import one_writer
from app.hosts.reading import hash_bytes

BEFORE, OURS = b'{"a": 1}', b'{"ours": 1}'


class Host:
    """A host that writes its file anew before each of the first `times` exchanges."""

    def __init__(self, file: Path, times: int) -> None:
        self.file, self.times, self.writes = file, times, 0

    def exchange(self, one: str, other: str) -> bool:
        if self.writes < self.times:
            self.writes += 1
            beside = self.file.with_name("host.new")
            beside.write_bytes(self.version(self.writes))
            beside.replace(self.file)
        return safe_write.exchange(one, other)

    @staticmethod
    def version(number: int) -> bytes:
        return b'{"host": %d}' % number


def write_against(host: Host, home: Path) -> None:
    host.file.write_bytes(BEFORE)
    with one_writer(home) as journal:
        writing.replace_file(host.file, OURS, expected=hash_bytes(BEFORE), journal=journal)


@pytest.mark.parametrize("times", range(1, 8))
def test_of_any_number_of_writes_in_the_last_moment_the_newest_stays(tmp_path, monkeypatch, times):
    folder = tmp_path / "host"
    folder.mkdir()
    host = Host(folder / "mcp.json", times)
    for module in (writing, exchanging):
        monkeypatch.setattr(module, "exchange", host.exchange)
    if not _exchanges(folder):
        pytest.skip("this file system cannot exchange two names")
    with pytest.raises(ToolcribError, match="changed meanwhile"):
        write_against(host, tmp_path)
    assert host.writes == times
    assert host.file.read_bytes() == Host.version(times)
    assert [file.name for file in folder.iterdir()] == ["mcp.json"]


def test_a_host_that_writes_all_the_time_is_left_and_no_version_is_thrown_away(
    tmp_path, monkeypatch
):
    folder = tmp_path / "host"
    folder.mkdir()
    host = Host(folder / "mcp.json", 10**6)
    for module in (writing, exchanging):
        monkeypatch.setattr(module, "exchange", host.exchange)
    if not _exchanges(folder):
        pytest.skip("this file system cannot exchange two names")
    with pytest.raises(ToolcribError, match="keeps writing") as error:
        write_against(host, tmp_path)
    kept = [file for file in folder.iterdir() if file.name != "mcp.json"]
    versions = {file.read_bytes() for file in (*kept, host.file)}
    assert versions == {Host.version(host.writes), Host.version(host.writes - 1)}
    assert str(kept[0]) in error.value.hint


def _exchanges(folder: Path) -> bool:
    one, other = folder / "one", folder / "other"
    one.touch()
    other.touch()
    able = safe_write.exchange(str(one), str(other))
    one.unlink()
    other.unlink()
    return able
