"""A local user who plants links, a host that writes at the same moment, owners and modes."""

import os
import stat
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.core.safe_write import (
    is_temporary,
    make_file,
    put_folder,
    remove_leftovers,
    temporary_name,
    write_file,
)
from app.export.apply import apply, undo_host
from app.ranking.learning import label_files
from app.secrets.secret_store import Secrets, SecretStore, install_key

CURSOR = {"mcpServers": {"stub": {"command": "x", "env": {"KEY": "t0p-s3cret"}}}}
AS_ROOT = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives away")


@pytest.fixture
def file(world):
    path = world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    return path


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "bashrc"
    path.write_text("alias ll='ls -l'\n")
    yield path
    assert path.read_text() == "alias ll='ls -l'\n"


@pytest.fixture
def guessed(monkeypatch):
    """guessed(path): the temporary name beside it, which somebody guessed."""
    monkeypatch.setattr(os, "urandom", bytes)
    return lambda path: Path(temporary_name(str(path)))


def test_a_link_planted_at_a_temporary_name_is_not_followed(world, file, victim, guessed):
    before = file.read_bytes()
    guessed(file).symlink_to(victim)
    with pytest.raises(ToolcribError, match="File exists"):
        world.export("cursor", "pruned")
    assert file.read_bytes() == before


def test_links_planted_in_our_own_folder_are_not_followed(ctx, victim, guessed):
    ctx.paths.create()
    planted = guessed(ctx.paths.settings_file)
    planted.symlink_to(victim)
    keep = partial(SecretStore.open(ctx.paths).put, "a", Secrets(env={"KEY": "value"}))
    for write in (partial(replace(ctx.settings, zoom=150).save, ctx.paths.settings_file), keep):
        with pytest.raises(ToolcribError, match="File exists"):
            write()
    planted.unlink()
    lock = ctx.paths.secrets.with_suffix(".lock")
    lock.unlink()
    lock.symlink_to(victim)
    with pytest.raises(ToolcribError):
        keep()
    lock.unlink()
    keep()
    assert stat.S_IMODE(ctx.paths.secrets.stat().st_mode) == 0o600


def test_a_link_planted_as_the_lock_is_not_followed(world, file, tmp_path):
    (world.ctx.paths.home / "export.lock").symlink_to(tmp_path / "made by nobody")
    before = file.read_bytes()
    with pytest.raises(ToolcribError, match=r"export\.lock"):
        world.export("cursor", "pruned")
    assert not (tmp_path / "made by nobody").exists() and file.read_bytes() == before


def test_temporary_names_cannot_be_guessed_and_are_recognised(tmp_path, monkeypatch):
    seen = []
    replaced = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: seen.append(Path(a).name) or replaced(a, b))
    for _ in range(50):
        write_file(tmp_path / "a", b"x")
    assert len(set(seen)) == 50 and all(map(is_temporary, seen))
    assert not is_temporary(".toolcrib-notes.tmp")


def test_what_a_killed_writer_left_goes_and_what_is_in_use_stays(tmp_path):
    left, used = (tmp_path / f".toolcrib-{letter * 16}.tmp" for letter in "ab")
    left.touch()
    import fcntl

    with used.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        remove_leftovers(tmp_path)
    assert not left.exists() and used.exists()


def test_a_file_with_two_names_is_not_parted(world, file):
    other = file.with_name("other name.json")
    other.hardlink_to(file)
    made = world.plan("cursor", "pruned")
    with pytest.raises(ToolcribError, match="2 names"):
        apply(made, world.ctx, world.db)
    assert other.samefile(file) and "gateway" not in file.read_text()


def test_extended_attributes_and_access_lists_are_kept(world, file):
    acl = bytes.fromhex("02000000 01000600 ffffffff 02000400 e8030000 04000000 ffffffff")
    acl += bytes.fromhex("10000400 ffffffff 20000000 ffffffff")  # user 1000 may read
    try:
        os.setxattr(file, "user.note", b"mine")
        os.setxattr(file, "system.posix_acl_access", acl)
    except (OSError, AttributeError):
        pytest.skip("this file system has no such attributes")
    world.export("cursor", "pruned")
    assert os.getxattr(file, "user.note") == b"mine"
    assert os.getxattr(file, "system.posix_acl_access") == acl


@AS_ROOT
def test_under_sudo_files_stay_the_users(world, file):
    for path in (world.home, file.parent, file, world.ctx.paths.home.parent):
        os.chown(path, 4711, 4712)
    world.export("cursor", "pruned")
    assert (file.stat().st_uid, file.stat().st_gid) == (4711, 4712)
    file.unlink()
    world.write(".lmstudio/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    world.export("cursor", "through", also=["stub"])
    assert file.stat().st_uid == 4711


@AS_ROOT
def test_under_sudo_our_own_folder_is_the_users(tmp_path, ctx):
    os.chown(tmp_path, 4711, 4712)
    ctx.open_store().close()
    ctx.settings.save(ctx.paths.settings_file)
    for path in (ctx.paths.home, ctx.paths.database, ctx.paths.settings_file):
        assert path.stat().st_uid == 4711


def test_a_folder_that_others_may_use_is_closed(world, file):
    world.ctx.paths.home.chmod(0o777)
    world.export("cursor", "pruned")
    for folder in (world.ctx.paths.home, world.ctx.paths.backups):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def at_call(name, number, action):
    """Runs the action once, right before the traced process makes its n-th call of that name."""
    seen = []

    def on(_index, called):
        seen.extend([called] if called == name else [])
        if called == name and len(seen) == number:
            action()

    return on


def traced_export(faults, world, on):
    """An export in a process that stands still while `on` acts."""
    made = world.plan("cursor", "pruned")

    def write():
        with closing(world.ctx.open_store()) as db:
            apply(made, world.ctx, db)

    world.db.close()  # a connection must not be taken into another process
    ended = faults.run(write, on=on)
    world.db = world.ctx.open_store()
    return ended


def by_rename(file, text):
    beside = file.with_name("host's own")
    beside.write_text(text)
    beside.rename(file)


def in_place(file, text):
    file.write_text(text)


@pytest.mark.parametrize("way", [by_rename, in_place])
def test_what_the_host_writes_in_the_last_gap_is_put_back(faults, world, file, way):
    ended = traced_export(faults, world, at_call("renameat2", 1, lambda: way(file, '{"a": 1}')))
    assert "changed meanwhile" in ended.text
    assert file.read_text() == '{"a": 1}'
    assert [path.name for path in file.parent.iterdir()] == ["mcp.json"]
    world.db.close()


@pytest.mark.parametrize("way", [by_rename, in_place])
def test_of_two_writes_of_the_host_the_last_one_stays(faults, world, file, way):
    first = at_call("renameat2", 1, lambda: way(file, '{"a": 1}'))
    second = at_call("renameat2", 2, lambda: way(file, '{"a": 2}'))
    ended = traced_export(faults, world, lambda *call: (first(*call), second(*call)))
    assert "changed meanwhile" in ended.text
    assert file.read_text() == '{"a": 2}'
    assert [path.name for path in file.parent.iterdir()] == ["mcp.json"]
    world.db.close()


def test_a_host_that_is_still_writing_is_not_cut_off(faults, world, file):
    opened = []
    on = at_call("renameat2", 1, lambda: opened.append(file.open("r+")))
    ended = traced_export(faults, world, on)
    with opened[0] as host:
        host.truncate()
        host.write('{"by": "the host"}')
    assert "changed meanwhile" in ended.text
    assert file.read_text() == '{"by": "the host"}'
    world.db.close()


def test_a_file_that_the_host_made_meanwhile_is_not_overwritten(faults, world):
    file = world.home / ".cursor" / "mcp.json"
    world.write(".lmstudio/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    made = world.plan("cursor", "through", also=["stub"])
    world.db.close()

    def write():
        with closing(world.ctx.open_store()) as db:
            apply(made, world.ctx, db)

    ended = faults.run(write, on=at_call("renameat2", 1, lambda: file.write_text("{}")))
    assert "changed meanwhile" in ended.text
    assert file.read_text() == "{}" and len(list(file.parent.iterdir())) == 1


def test_a_host_that_writes_while_its_file_is_taken_away_keeps_it(faults, world):
    world.write(".lmstudio/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    (record,) = world.export("cursor", "through", also=["stub"])
    file = Path(record.file)
    world.db.close()

    def back():
        with closing(world.ctx.open_store()) as db:
            undo_host("cursor", world.ctx, db)

    ended = faults.run(back, on=at_call("rename", 1, lambda: file.write_text('{"a": 1}')))
    assert "changed meanwhile" in ended.text
    assert file.read_text() == '{"a": 1}' and len(list(file.parent.iterdir())) == 1


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    """As root, labels exported to /dev/null would have put a file in its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for path in (pipe, link, tmp_path):
        with pytest.raises(OSError, match="not a plain file"):
            write_file(path, b"x")
    with pytest.raises(ToolcribError, match="not a plain file"):
        label_files.write(pipe, [])
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_labels_and_the_installations_key_follow_no_planted_name(tmp_path, ctx, victim):
    ctx.paths.create()
    ctx.paths.install_key.symlink_to(victim)
    with pytest.raises(ToolcribError, match="damaged"):
        install_key(ctx.paths)
    ctx.paths.install_key.unlink()
    keys = {install_key(ctx.paths) for _ in range(3)}
    assert len(keys) == 1 and stat.S_IMODE(ctx.paths.install_key.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        make_file(ctx.paths.install_key, b"x", mode=0o600)
    assert not [file for file in ctx.paths.home.iterdir() if is_temporary(file.name)]


def test_a_folder_takes_the_place_of_another_in_one_step(tmp_path):
    target = tmp_path / "model"
    for text in ("one", "two"):
        made = tmp_path / "made"
        made.mkdir()
        (made / "model.onnx").write_text(text)
        put_folder(made, target)
        assert [file.name for file in tmp_path.iterdir()] == ["model"]
        assert (target / "model.onnx").read_text() == text


def test_a_link_planted_as_a_folder_goes_and_what_it_names_stays(tmp_path):
    theirs, made, target = tmp_path / "theirs", tmp_path / "made", tmp_path / "model"
    for folder in (theirs, made):
        folder.mkdir()
        (folder / "file").write_text(folder.name)
    target.symlink_to(theirs)
    put_folder(made, target)
    assert not target.is_symlink() and (target / "file").read_text() == "made"
    assert (theirs / "file").read_text() == "theirs"
