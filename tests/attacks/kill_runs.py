"""Writes that are killed, or meet a full or failing disk, at a random system call.

python tests/attacks/kill_runs.py --runs 10000 [--seed 1] [--faults kill,full,broken]
python tests/attacks/kill_runs.py --every    each scenario at each of its system calls, once a fault

What is written: exports, undo, settings, secrets, ticks; and (kill_beds.py) the store as it is
made, upgraded and filled, the backend's folder, lock, socket and descriptor.

After each run every file must hold its old bytes or its new ones; after the next start nothing may
be left over, the store must be whole, and taking the write back must give the old bytes.
"""

import argparse
import errno
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "fakes"), str(Path(__file__).parent)]
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

import faults  # noqa: E402
from host_world import HostWorld  # noqa: E402
from kill_beds import other_beds  # noqa: E402

from app.catalog.catalog import set_on  # noqa: E402
from app.core.context import AppContext  # noqa: E402
from app.core.paths import Paths  # noqa: E402
from app.core.settings import Settings  # noqa: E402
from app.export.apply import apply, restore_all, undo_host  # noqa: E402
from app.export.recovery import recover  # noqa: E402
from app.host_status.drift import find_drift  # noqa: E402
from app.secrets.secret_store import Secrets, SecretStore  # noqa: E402
from store import exports  # noqa: E402

FAULTS = {"kill": faults.KILL, "full": errno.ENOSPC, "broken": errno.EIO}
SENTENCES = ("ToolcribError", "StoreError")  # what a failed write may end in
JSON = {"mcpServers": {"stub": {"command": "x", "env": {"KEY": "t0p-s3cret"}}, "b": {"url": "y"}}}
TOML = '# mine\n[mcp_servers.stub]\ncommand = "x"\n\n[mcp_servers.stub.env]\nKEY = "t0p"\n'


@dataclass(frozen=True)
class Scenario:
    """Files to begin with, steps before the write under test, and that write."""

    name: str
    files: dict[str, str]
    before: tuple[Callable[[HostWorld], object], ...]
    act: Callable[[HostWorld], Callable[[], object]]  # made beforehand, run traced


def exporting(
    host: str, mode: str, also: Sequence[str] = ()
) -> Callable[[HostWorld], Callable[[], object]]:
    """The write of a plan that was made before; `also`: servers of other hosts."""

    def prepared(world: HostWorld) -> Callable[[], object]:
        plan = world.plan(host, mode, **({"also": also} if also else {}))
        assert plan.files, plan.refusal
        return lambda: in_child(world, lambda ctx, db: apply(plan, ctx, db))

    return prepared


def in_child(world: HostWorld, action: Callable[..., object]) -> None:
    """Run with a connection of the child's own."""
    db = world.ctx.open_store()
    action(world.ctx, db)
    db.close()


def scenarios() -> Iterator[Scenario]:
    """Hosts with and without locks, one file and two, new files, undo, restore, our own files."""
    cursor, cline = ".cursor/mcp.json", ".cline/data/settings/cline_mcp_settings.json"
    text = json.dumps(JSON, indent=2)
    exported = (lambda world: world.export("cursor", "pruned"),)
    yield Scenario("export", {cursor: text}, (), exporting("cursor", "pruned"))
    yield Scenario(
        "new file", {".lmstudio/mcp.json": text}, (), exporting("cursor", "through", ["stub"])
    )
    yield Scenario("again", {cursor: text}, exported, exporting("cursor", "through"))
    yield Scenario("folder lock", {cline: text}, (), exporting("cline", "pruned"))
    copilot = ".copilot/mcp-config.json"
    yield Scenario("file lock", {copilot: text}, (), exporting("copilot-cli", "through"))
    yield Scenario("TOML", {".codex/config.toml": TOML}, (), exporting("codex", "pruned"))
    two = {".codeium/windsurf/mcp_config.json": text, ".codeium/mcp_config.json": text}
    yield Scenario("two files", two, (), exporting("windsurf", "pruned"))

    def taking_back(action: Callable[..., object]) -> Callable[[HostWorld], Callable[[], object]]:
        return lambda world: lambda: in_child(world, action)

    back = taking_back(lambda ctx, db: undo_host("cursor", ctx, db))
    yield Scenario("undo", {cursor: text}, exported, back)
    made = (lambda world: world.export("cursor", "through", also=["stub"]),)
    yield Scenario("undo of a new file", {".lmstudio/mcp.json": text}, made, back)
    yield Scenario("restore", {cursor: text}, exported, taking_back(restore_all))
    ticks = taking_back(lambda _ctx, db: set_on(db, "default", [1, 2], False))
    yield Scenario("ticks", {cursor: text}, (), ticks)
    settings = lambda world: lambda: _grown(world).save(world.ctx.paths.settings_file)  # noqa: E731
    kept = (lambda world: world.ctx.settings.save(world.ctx.paths.settings_file),)
    yield Scenario("settings", {cursor: text}, kept, settings)
    yield Scenario(
        "secrets",
        {cursor: text},
        (lambda world: SecretStore.open(world.ctx.paths).put("a", Secrets(env={"K": "1" * 20})),),
        lambda world: lambda: SecretStore.open(world.ctx.paths).put("b", Secrets(env={"K": "2"})),
    )


def _grown(world: HostWorld) -> Settings:
    return replace(world.ctx.settings, zoom=150)


class Bed:
    """One scenario, laid out afresh for every run in the same folder."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.name, self._folder, self._fresh = scenario.name, folder / "run", folder / "fresh"
        self._folder.mkdir()
        self._ctx = AppContext(
            Paths(self._folder / "toolcrib", self._folder / "models"), Settings()
        )
        db = self._ctx.open_store()
        self._world = HostWorld(self._folder, self._ctx, db)
        for path, text in scenario.files.items():
            self._world.write(path, text)
        self._world.learn()
        self._world.narrow()
        for step in scenario.before:
            step(self._world)
        self._action = scenario.act(self._world)
        db.close()
        shutil.copytree(self._folder, self._fresh, symlinks=True)
        self.old = self._state()
        whole = faults.run(self._action)
        assert whole.code == 0, whole.text
        self.calls = whole.calls
        self.new = self._state()
        self._names = {path for state in (self.old, self.new) for path in state}
        self._folders = self._empty_folders()

    def _state(self) -> dict[str, bytes]:
        """The files that hosts read, and those of ours that are no database and no copy."""
        folders = (self._world.home, self._ctx.paths.home)
        found = {
            str(path): path.read_bytes()
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.startswith(("toolcrib.db", "export.lock"))
        }
        return {path: data for path, data in found.items() if "/backups/" not in path}

    def _empty_folders(self) -> set[str]:
        folders = [path for path in self._world.home.rglob("*") if path.is_dir()]
        return {str(path) for path in folders if not any(path.iterdir())}

    def run(self, at: int, fault: int) -> str:
        """One run; what is wrong afterwards, "" when nothing is."""
        shutil.rmtree(self._folder)
        shutil.copytree(self._fresh, self._folder, symlinks=True)
        ended = faults.run(self._action, at=at, fault=fault)
        if fault != faults.KILL and ended.code not in (0, 3):
            return f"ended with {ended.code}"
        if ended.code == 3 and not any(name in _last(ended.text) for name in SENTENCES):
            return ended.text
        return self._look() or self._look_after_start()

    def _look(self) -> str:
        for path, data in self._state().items():
            if path in self._names and data not in (self.old.get(path), self.new.get(path)):
                return f"{path} holds neither the old nor the new bytes"
        now = self._state()
        lost = [path for path in self.old if path in self.new and path not in now]
        return f"{lost[0]} is gone" if lost else ""

    def _look_after_start(self) -> str:
        recover(self._ctx)
        wrong = self._look()
        if wrong:
            return f"after the start: {wrong}"
        left = [path for path in self._state() if path not in self._names]
        left += [str(path) for path in self._folder.rglob("*") if ".toolcrib-" in path.name]
        left += self._empty_folders() - self._folders
        if left:
            return f"left over: {left[0]}"
        notes = self._ctx.paths.home / "export.lock"
        if notes.is_file() and notes.stat().st_size:
            return "the notes of the write were not settled"
        return self._look_at_store()

    def _look_at_store(self) -> str:
        db = self._ctx.open_store()
        try:
            if db.pragma("integrity_check") != "ok":
                return "the store is damaged"
            records = exports.all_exports(db)
            drifted = [d for d in find_drift(records) if d.state != "in sync"]
            if drifted:
                return f"{drifted[0].file} counts as changed outside"
            known = {c for r in records for c in (r.backup, *map(str, r.detail.values()))}
            copies = [p for p in self._ctx.paths.backups.rglob("*") if p.is_file()]
            if unknown := [path for path in copies if str(path) not in known]:
                return f"no record names the copy {unknown[0].name}"
            restore_all(self._ctx, db)
        finally:
            db.close()
        first = {p: self._fresh_host(p) for p in self.old if str(self._world.home) in p}
        now = self._state()
        wrong = [p for p, data in first.items() if data is not None and now.get(p) != data]
        return f"{wrong[0]} could not be taken back" if wrong else ""

    def _fresh_host(self, path: str) -> bytes | None:
        """The file as it was before any export; None where an export made it."""
        return ORIGINALS.get(Path(path).name)


ORIGINALS = {
    name: (TOML if name.endswith(".toml") else json.dumps(JSON, indent=2)).encode()
    for name in ("mcp_config.json", "cline_mcp_settings.json", "mcp-config.json", "config.toml")
}


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line and not line.startswith(" ")]
    return lines[-1] if lines else ""


def main() -> int:
    """Run, and print what went wrong; 1 when something did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    chosen = random.Random(args.seed)
    numbers = [FAULTS[name] for name in args.faults.split(",")]
    wrong, runs, failures = Counter(), 0, []
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None  # syncing is not what is tested
    with tempfile.TemporaryDirectory(prefix="toolcrib-kill-", dir=place) as folder:
        beds = []
        for index, scenario in enumerate(scenarios()):
            if args.only in scenario.name:
                (Path(folder) / str(index)).mkdir()
                beds.append(Bed(scenario, Path(folder) / str(index)))
        beds += other_beds(Path(folder), args.only)
        points = (
            [(b, at, f) for b in beds for at in range(len(b.calls)) for f in _of(b, at, numbers)]
            if args.every
            else [_point(chosen, beds, numbers) for _ in range(args.runs)]
        )
        for bed, at, fault in points:
            runs += 1
            problem = bed.run(at, fault)
            if problem:
                wrong[bed.name] += 1
                name = next(key for key, value in FAULTS.items() if value == fault)
                failures.append(f"{bed.name}, {name} at {at} ({bed.calls[at]}): {problem}")
    for failure in failures[:20]:
        print(failure)
    counts = ", ".join(f"{bed.name} {len(bed.calls)}" for bed in beds)
    print(f"seed {args.seed}: {runs} runs, {len(failures)} wrong; system calls: {counts}")
    return 1 if failures else 0


def _point(chosen: random.Random, beds: list[Bed], numbers: list[int]) -> tuple[Bed, int, int]:
    bed = chosen.choice(beds)
    at = chosen.randrange(len(bed.calls))
    return bed, at, chosen.choice(_of(bed, at, numbers))


def _of(bed: Bed, at: int, numbers: list[int]) -> list[int]:
    """The faults of a call: waiting for a lock knows neither a full nor a failing disk."""
    return [faults.KILL] if bed.calls[at] == "flock" else numbers


if __name__ == "__main__":
    raise SystemExit(main())
