import logging
import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from app.core.errors import ToolcribError
from app.core.logs import configure
from app.export.apply import (
    apply,
    list_backups,
    restore,
    restore_all,
    restore_host,
    undo,
    undo_host,
)
from app.secrets.secret_store import SecretStore
from store import exports, servers

CURSOR = {"mcpServers": {"stub": {"command": "x", "env": {"KEY": "t0p-s3cret"}}}}


@pytest.fixture
def file(world):
    path = world.write(".cursor/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    return path


def test_a_write_keeps_a_private_backup_and_is_undone_byte_for_byte(world, file):
    start = file.read_bytes()
    file.chmod(0o640)
    (record,) = world.export("cursor", "pruned")
    assert file.read_bytes() != start
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert Path(record.backup).read_bytes() == start
    assert stat.S_IMODE(Path(record.backup).stat().st_mode) == 0o600
    undo(record.id, world.ctx, world.db)
    assert file.read_bytes() == start
    assert exports.one(world.db, record.id).undone_at
    with pytest.raises(ToolcribError, match="already"):
        undo(record.id, world.ctx, world.db)


def test_a_write_and_its_undo_are_in_toolcribs_own_log_without_secrets(world, file):
    handler = configure(world.ctx.paths.logs)
    try:
        (record,) = world.export("cursor", "through")
        undo(record.id, world.ctx, world.db)
    finally:
        logging.getLogger("toolcrib").removeHandler(handler)
        handler.close()
    log = (world.ctx.paths.logs / "toolcrib.log").read_text()
    assert f"Wrote {file}: cursor, through" in log
    assert f"Took back the write of {file}: cursor" in log
    assert "t0p-s3cret" not in log


def test_the_record_holds_no_secret(world, file):
    (record,) = world.export("cursor", "through")
    assert "t0p-s3cret" not in repr(record)
    assert b"t0p-s3cret" not in world.ctx.paths.database.read_bytes()
    launch = servers.by_name(world.db, "stub").spec.key
    assert SecretStore.open(world.ctx.paths).get(launch).env == {"KEY": "t0p-s3cret"}


def test_a_file_that_changed_after_the_preview_is_not_written(world, file):
    made = world.plan("cursor", "pruned")
    file.write_text("{}")
    with pytest.raises(ToolcribError, match="changed meanwhile"):
        apply(made, world.ctx, world.db)
    assert file.read_text() == "{}"
    assert all(record.undone_at for record in exports.for_host(world.db, "cursor"))


def test_a_file_that_changed_since_is_not_undone(world, file):
    (record,) = world.export("cursor", "pruned")
    file.write_text("{}")
    with pytest.raises(ToolcribError, match="changed since"):
        undo(record.id, world.ctx, world.db)
    assert file.read_text() == "{}"


def test_the_target_of_a_link_is_replaced_and_not_the_link(world, file):
    real = file.with_name("real.json")
    file.rename(real)
    file.symlink_to(real)
    (record,) = world.export("cursor", "pruned")
    assert file.is_symlink() and "toolcrib-gateway" in real.read_text()
    undo(record.id, world.ctx, world.db)
    assert file.is_symlink()


def test_a_new_file_is_private_and_undo_removes_it(world):
    world.serve_another()
    (record,) = world.export("cursor", "through", also=["far"])
    path = Path(record.file)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    undo(record.id, world.ctx, world.db)
    assert not path.exists()


def test_nothing_is_left_beside_the_file(world, file):
    world.export("cursor", "pruned")
    assert [path.name for path in file.parent.iterdir()] == ["mcp.json"]


def test_a_read_only_file_is_not_replaced(world, file, monkeypatch):
    made = world.plan("cursor", "pruned")
    start = file.read_bytes()
    file.chmod(0o444)
    if os.access(file, os.W_OK):  # root may write anything: ask as the user would be asked
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ToolcribError, match="read-only"):
        apply(made, world.ctx, world.db)
    assert file.read_bytes() == start


def test_when_a_later_file_fails_the_earlier_one_is_put_back(world):
    first = world.write(".codeium/windsurf/mcp_config.json", CURSOR)
    second = world.write(".codeium/mcp_config.json", CURSOR)
    world.learn()
    world.narrow()
    made = world.plan("windsurf", "pruned")
    assert len(made.files) == 2
    start = first.read_bytes()
    second.write_text("{}")
    with pytest.raises(ToolcribError, match="changed meanwhile"):
        apply(made, world.ctx, world.db)
    assert first.read_bytes() == start
    assert all(record.undone_at for record in exports.for_host(world.db, "windsurf"))


def test_all_files_of_one_export_are_taken_back_together(world):
    first = world.write(".codeium/windsurf/mcp_config.json", CURSOR)
    second = world.write(".codeium/mcp_config.json", CURSOR)
    world.learn()
    world.narrow()
    start = first.read_bytes()
    world.export("windsurf", "pruned")
    middle = first.read_bytes()
    world.export("windsurf", "through")
    assert len(undo_host("windsurf", world.ctx, world.db)) == 2
    assert first.read_bytes() == second.read_bytes() == middle
    undo_host("windsurf", world.ctx, world.db)
    assert first.read_bytes() == second.read_bytes() == start
    with pytest.raises(ToolcribError, match="no write"):
        undo_host("windsurf", world.ctx, world.db)


def test_a_refused_plan_is_not_applied(world):
    world.write(".cursor/mcp.json", "{")
    with pytest.raises(ToolcribError, match="not valid JSON"):
        apply(world.plan("cursor", "through"), world.ctx, world.db)


def test_a_running_host_that_must_be_closed_is_written_only_when_the_user_insists(world, tmp_path):
    file = world.write(".config/Claude/claude_desktop_config.json", CURSOR)
    world.learn()
    world.narrow()
    program = tmp_path / "claude-desktop"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])
    try:
        made = world.plan("claude-desktop", "pruned")
        assert made.running and any("running" in warning for warning in made.warnings)
        with pytest.raises(ToolcribError, match="is running"):
            apply(made, world.ctx, world.db)
        assert "gateway" not in file.read_text()
        apply(made, world.ctx, world.db, insist=True)
        assert "gateway" in file.read_text()
    finally:
        process.kill()
        process.wait(10)
    assert not world.plan("claude-desktop", "through").running


def test_the_hosts_own_lock_is_respected_and_let_go(world, monkeypatch):
    file = world.write(".copilot/mcp-config.json", CURSOR)
    world.learn()
    world.narrow()
    lock = file.with_name(".mcp-writer.lock")
    seen = []
    write = os.write  # watched, not replaced
    monkeypatch.setattr(os, "write", lambda *args: seen.append(lock.exists()) or write(*args))
    apply(world.plan("copilot-cli", "pruned"), world.ctx, world.db)
    assert any(seen) and not lock.exists()
    lock.touch()
    monkeypatch.setattr("app.export.writing._LOCK_WAIT", 0.1)
    with pytest.raises(ToolcribError, match="Another program is writing"):
        undo_host("copilot-cli", world.ctx, world.db)
    os.utime(lock, (1, 1))  # left over from a dead process
    undo_host("copilot-cli", world.ctx, world.db)


def test_of_two_writers_one_wins_and_the_other_says_why(world, file):
    plans = [world.plan("cursor", mode) for mode in ("pruned", "through")]
    results: list[object] = []

    def write(made):
        with_db = world.ctx.open_store()
        try:
            results.append(apply(made, world.ctx, with_db))
        except ToolcribError as error:
            results.append(error)
        finally:
            with_db.close()

    threads = [threading.Thread(target=write, args=(made,)) for made in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    won = [result for result in results if isinstance(result, tuple)]
    lost = [result for result in results if isinstance(result, ToolcribError)]
    assert len(won) == len(lost) == 1
    assert "changed meanwhile" in lost[0].title
    assert file.read_bytes() in [made.files[0].after for made in plans]


def test_backups_are_listed_and_any_can_be_restored(world, file):
    start = file.read_bytes()
    world.export("cursor", "pruned")
    world.export("cursor", "through")
    _, oldest = list_backups(world.db, "cursor")
    assert oldest.path.read_bytes() == start
    file.write_text("broken by hand")
    restore(oldest, world.ctx, world.db)
    assert file.read_bytes() == start
    assert any(b.path.read_bytes() == b"broken by hand" for b in list_backups(world.db, "cursor"))


def test_restoring_a_host_and_restoring_all_give_the_files_from_before_toolcrib(world, file):
    other = world.write(".lmstudio/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    start = file.read_bytes(), other.read_bytes()
    for host_id in ("cursor", "lm-studio"):
        world.export(host_id, "pruned")
        world.export(host_id, "through")
    restore_host("cursor", world.ctx, world.db)
    assert file.read_bytes() == start[0] and other.read_bytes() != start[1]
    restore_all(world.ctx, world.db)
    assert other.read_bytes() == start[1]
    with pytest.raises(ToolcribError):
        undo(10**6, world.ctx, world.db)


def test_a_file_that_cannot_be_restored_stops_no_other(world, file):
    other = world.write(".lmstudio/mcp.json", CURSOR)
    world.learn()
    world.narrow()
    start = other.read_bytes()
    for host_id in ("cursor", "lm-studio"):
        world.export(host_id, "pruned")
    (copy,) = list_backups(world.db, "cursor")
    copy.path.unlink()
    restored = restore_all(world.ctx, world.db)
    assert [record.host for record in restored.records] == ["lm-studio"]
    assert other.read_bytes() == start
    (problem,) = restored.problems
    assert problem.startswith(f"{file}: ") and "is gone" in problem


def test_a_restore_that_is_taken_back_forgets_nothing(world, file):
    """`toolcrib restore cursor`, then `restore cursor --last`: the way out stays open."""
    start = file.read_bytes()
    for mode in ("pruned", "through"):
        world.export("cursor", mode)
    through = file.read_bytes()
    restore_host("cursor", world.ctx, world.db)
    undo_host("cursor", world.ctx, world.db)
    assert file.read_bytes() == through
    (newest, *_) = [r for r in exports.for_host(world.db, "cursor") if not r.undone_at]
    assert newest.mode == "through"
    world.export("cursor", "as-is")
    assert file.read_bytes() == start
    undo_host("cursor", world.ctx, world.db)
    restore_host("cursor", world.ctx, world.db)
    assert file.read_bytes() == start


def test_old_backups_go_but_never_what_undo_needs(world, file):
    from dataclasses import replace

    world.ctx = replace(world.ctx, settings=replace(world.ctx.settings, backups_kept=2))
    start = file.read_bytes()
    for _ in range(4):
        world.export("cursor", "pruned")
        world.export("cursor", "through")
    kept = list((world.ctx.paths.backups / "cursor").iterdir())
    assert len(kept) < 12
    world.export("cursor", "as-is")
    assert file.read_bytes() == start
