"""From "extract the text of a PDF" to a listed server that a real host calls.

`python tests/journeys/find_journey.py cli|window|update [FOLDER]` needs `make servers` and the
registries of npm and PyPI. A registry of 300 entries runs on loopback; two of its entries lead to
packages that are fetched and started for real. The command line adds both, the window (offscreen)
the one of PyPI; pictures of the window are saved in FOLDER. With `update` that one goes from a
version to the next and back. It ends with an error where a step does not hold, else with the
figures.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "hosts"), str(ROOT / "tests" / "fakes"), str(ROOT)]

from fake_registry import META, FakeRegistry, entry, fake_registry  # noqa: E402
from judge.fake_model import FakeModel, Script  # noqa: E402
from judge.real import RealHost, Stub, real_host  # noqa: E402
from judge.trial import program, run_host, write_files  # noqa: E402

from tests.fakes.verbs import Verbs  # noqa: E402

Json = dict[str, Any]
SERVERS = ROOT / ".servers"
UV = SERVERS / "uv" / "bin"
BIN = Path(sys.executable).parent
QUERY = "extract the text of a PDF"
TEXT = "The harvest was good in 1911"
HOST = "codex"
BUDGET, MORE = 2_500, 3_500  # tokens: less than all tools of the first package have; for both
PYPI = "io.github.benspdf/benspdf"
NPM = "io.github.sylphx/pdf-reader"
OTHERS = [number for number in range(1, 332) if number % 10][:298]  # none is about PDF files
GONE = "io.github.somebody/server-51"  # deleted after its page was fetched
PATIENCE = 120.0


def pdf(text: str) -> bytes:
    """A page with one line."""
    stream = f"BT /F1 18 Tf 20 80 Td ({text}) Tj ET".encode()
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 144] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>"
    )
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        font,
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start, size = len(out), len(bodies) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)


def listed(name: str, kind: str, package: str, version: str, about: str) -> Json:
    """A real package as a registry lists it."""
    way = {"registryType": kind, "identifier": package, "version": version}
    packages = [{**way, "transport": {"type": "stdio"}}]
    return entry(0, name=name, description=about, packages=packages, version=version)


def entries() -> list[Json]:
    """300: two real ones, and 298 that are named only."""
    return [
        *(entry(number) for number in OTHERS),
        listed(PYPI, "pypi", "benspdf-mcp", "0.3.0", "Local PDF tools for AI agents"),
        listed(NPM, "npm", "@sylphx/pdf-reader-mcp", "2.4.0", "Provides tools to read PDF files"),
    ]


class Machine:
    """A fake HOME with one host, and the command line run in it."""

    def __init__(self, base: Path, verbs: Verbs | None = None) -> None:
        self._verbs = verbs
        self.base, self.home = base, base / "home"
        self.own = self.home / ".local" / "share" / "toolcrib"
        self.own.mkdir(parents=True)
        (self.own / "backend.off").touch()  # hosts do not pass TOOLCRIB_STANDALONE on
        self.file = base / "harvest.pdf"
        self.file.write_bytes(pdf(TEXT))
        self.host: RealHost = real_host(HOST)
        self.config = self.home / ".codex" / "config.toml"
        for name, cache in ((".npm", "npm"), (".cache/uv", "uv")):
            kept = SERVERS / "cache" / cache  # what was fetched once is not fetched again
            kept.mkdir(parents=True, exist_ok=True)
            link = self.home / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(kept)
        self.online(True)
        path = os.pathsep.join((str(UV), str(BIN), "/usr/local/bin", "/usr/bin", "/bin"))
        marks = {k: v for k, v in os.environ.items() if k == "TOOLCRIB_TEST_RUN"}
        certs = {k: v for k, v in os.environ.items() if "CERT" in k or "_CA_" in k}
        self.env = {
            **certs,
            **marks,
            "PATH": path,
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TOOLCRIB_HOME": str(self.own),
            "TOOLCRIB_MODELS": os.environ.get("TOOLCRIB_MODELS", str(ROOT / ".venv" / "models")),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "TOOLCRIB_STANDALONE": "1",
        }

    def online(self, yes: bool) -> None:
        """Let npx and uvx fetch packages, or start only what they fetched before."""
        settings = self.home / ".config" / "uv" / "uv.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("system-certs = true\n" + ("" if yes else "offline = true\n"))
        (self.home / ".npmrc").write_text("" if yes else "offline=true\n")

    def set_up_host(self, port: int) -> None:
        """The host's own file, without a server."""
        files = self.host.files(Stub("none", (), {}), port)
        write_files(self.home, {n: t.partition("[mcp_servers")[0] for n, t in files.items()})

    def run(self, *args: str, code: int = 0, env: Mapping[str, str] | None = None) -> Any:
        """Run one verb with --json; its document, or what it says where it fails."""
        assert self._verbs
        done = self._verbs.run_text(*args, "--json", env={**self.env, **(env or {})})
        held(done.returncode == code, f"{args}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return json.loads(done.stdout) if code == 0 else done.stderr

    def call(self, tool: str, arguments: Json, prepare: Callable[[int], None]) -> None:
        """Let the host call a tool through Toolcrib; the model must get the PDF's text."""
        script = Script(tool, arguments, query=QUERY, through=True, answers=(TEXT,))
        path = {"PATH": self.env["PATH"]}  # where uvx is
        with FakeModel(script) as model:
            host = self.host
            wanted = replace(host, environ=lambda port: {**host.environ(port), **path})
            prepare(model.port)
            self.online(False)
            ended = run_host(wanted, self.home, model)
            self.online(True)
            asked = model.conversation.asked
            got = any(TEXT in one.results for one in model.conversation.requests)
        held(got, f"{HOST} did not get the text: {asked} {ended.out[-1500:]} {ended.err[-1500:]}")


def held(holds: object, what: str) -> None:
    """End the script where a step does not hold."""
    if not holds:
        raise SystemExit(f"FAILED: {what}")


def until(what: str, holds: Callable[[], object], tick: Callable[[], None]) -> None:
    """Wait until something holds; `tick` lets other things happen."""
    end = time.monotonic() + PATIENCE
    while not holds():
        held(time.monotonic() < end, what)
        tick()


@contextmanager
def registry() -> Iterator[FakeRegistry]:
    """The registry; one entry is deleted while the list is fetched."""

    def delete(number: int) -> None:
        if number == 2:
            meta = next(one["_meta"][META] for one in items if one["server"]["name"] == GONE)
            meta.update(status="deleted", updatedAt="2026-11-01T00:00:00Z")

    items = entries()
    with fake_registry(items) as server:
        server.before_page = delete
        yield server


def missing() -> str:
    """The reason why the journey cannot be made here, "" for none."""
    if not (UV / "uvx").is_file():
        return "uv is not installed: run make servers"
    if not program(real_host(HOST)).is_file():
        return f"run: python tests/hosts/install.py {HOST}"
    return "" if shutil.which("npx") else "Node is not installed"


# ---- on the command line


def by_command_line(machine: Machine, server: FakeRegistry) -> Json:
    """The journey; returns its figures."""
    run = machine.run
    machine.set_up_host(9)
    run("registry", "add", server.url, "--name", "team", "--private")
    held(server.asked == [], "something was fetched before a sync")
    first = run("registry", "sync", "team")["synced"][0]
    again = run("registry", "sync", "team")["synced"][0]
    held(again["removed"] == 1, f"{again['removed']} were removed by the second sync")
    held(first["servers"] >= 299, f"{first['servers']} of 300 were fetched")
    rows = run("find", "Server 51 queries a Postgres database", "--limit", "300")["servers"]
    held(GONE not in [row["name"] for row in rows], "what was deleted is still found")

    asked = len(server.asked)
    names = [row["name"] for row in run("find", QUERY)["servers"]]
    held(PYPI in names and NPM in names, f"not found: {names}")
    known = run("add", "--from", PYPI, "--dry-run")
    command = known["packages"][0]["command"]
    held(command.startswith("uvx benspdf-mcp@0.3.0 · downloads"), f"the command is {command}")
    held(len(server.asked) == asked, "searching or looking sent something")

    figures: Json = {"first sync": first["servers"], "removed by the second": again["removed"]}
    for budget, name, called, tool, arguments in (
        (BUDGET, PYPI, "benspdf", "pdf_extract_text", {"ref": str(machine.file)}),
        (MORE, NPM, "pdf-reader", "read_pdf",
         {"sources": [{"path": str(machine.file)}], "include_full_text": True}),
    ):  # fmt: skip
        run("profile", "set", f"budget.tokens={budget}")
        added = run("add", "--from", name, "--for", QUERY)
        held(added["added"] == called, f"it is called {added['added']}")
        read = run("scan", called, "--yes")["servers"]
        (row,) = [one for one in read if one["name"] == called]
        held(row["status"] == "read", f"{called}: {row}")
        waiting = [one["tool"] for one in run("review")["held"]]
        held(len(waiting) == row["tools"], "its tools do not wait in Review")
        proposed = run("profile", "fit", called, "--apply")
        held(proposed["proposed"] == "PASS", f"the budget says {proposed['proposed']}")
        held(f"{called}/{tool}" in proposed["on"], f"ticked are {proposed}")
        run("trust", called)
        held(run("review")["held"] == [], "something waits in Review")
        run("export", HOST, "--mode", "through", "--also", called)
        machine.call(f"{called}/{tool}", dict(arguments), _rename(machine))
        figures[called] = {
            "tools": row["tools"], "ticked": len(proposed["on"]), "all on": proposed["all_on"],
            "tokens": proposed["tokens"],
        }  # fmt: skip
    return figures


def an_update(machine: Machine, server: FakeRegistry) -> Json:
    """A real package from one version to the next and back; returns its figures."""
    run = machine.run
    # by words: with an encoder a sync encodes the shipped list, a minute of CPU
    by_words = {"TOOLCRIB_MODELS": str(machine.home / "no-models")}
    item = next(one for one in server.items if one["server"]["name"] == PYPI)
    newer, item["server"] = item["server"], _at_version(item["server"], "0.2.0")
    run("registry", "add", server.url, "--name", "team", "--private")
    run("registry", "sync", "team", env=by_words)
    run("add", "--from", PYPI)
    run("scan", "benspdf", "--yes")
    run("trust", "benspdf")
    held(run("server", "update")["newer"] == {}, "something is newer already")
    item["server"] = newer
    item["_meta"][META]["updatedAt"] = "2026-11-02T00:00:00Z"
    run("registry", "sync", "team", env=by_words)
    seen = run("server", "update", "benspdf", "--yes")
    names = [one["tool"] for one in seen["added"]]
    held(seen["taken"] and "pdf_extract_text" in names, f"new are {names}")
    run("scan", "benspdf", "--yes")
    waiting = [one["tool"] for one in run("review")["held"]]
    held("benspdf/pdf_extract_text" in waiting, f"waiting are {waiting}")
    back = run("server", "update", "benspdf", "--back")
    held(back["version"] == "0.2.0", f"it is {back['version']}")
    run("scan", "benspdf", "--yes")
    held(run("review")["held"] == [], "something waits after the way back")
    return {"new": names, "changed": len(seen["changed"]), "tokens": seen["tokens"]}


def _at_version(raw: Json, version: str) -> Json:
    packages = [{**one, "version": version} for one in raw["packages"]]
    return {**raw, "version": version, "packages": packages}


def _rename(machine: Machine) -> Callable[[int], None]:
    """The host's file with the model's address of this run; all else as Toolcrib wrote it."""

    def prepare(port: int) -> None:
        text = machine.config.read_text(encoding="utf-8")
        before, _, rest = text.partition('base_url = "http://127.0.0.1:')
        held(rest, "the model's address is gone from the host's file")
        rest = rest[rest.index("/") :]
        machine.config.write_text(
            f'{before}base_url = "http://127.0.0.1:{port}{rest}', encoding="utf-8"
        )

    return prepare


@contextmanager
def running_verbs() -> Iterator[Verbs]:
    """The process whose forks run the verbs; it is gone at the end."""
    verbs = Verbs()
    try:
        yield verbs
    finally:
        verbs.stop()


def main() -> None:
    """Make one of the journeys."""
    how, *rest = sys.argv[1:] or ["cli"]
    why = missing()
    held(not why, why)
    if how == "window" and "TOOLCRIB_JOURNEY" not in os.environ:
        _again(rest)
        return
    began = time.monotonic()
    with registry() as server, running_verbs() as verbs:
        if how == "window":
            from find_window import in_the_window

            machine = Machine(Path(os.environ["TOOLCRIB_JOURNEY"]), verbs)
            folder = Path(rest[0]) if rest else None
            figures = in_the_window(machine, server, folder, rename=_rename(machine))
        else:
            with tempfile.TemporaryDirectory() as base:
                made = an_update if how == "update" else by_command_line
                figures = made(Machine(Path(base), verbs), server)
    figures["seconds"] = round(time.monotonic() - began, 1)
    print(json.dumps(figures))


def _again(rest: list[str]) -> None:
    """The window reads its HOME when it is imported: another process, with the fake one."""
    with tempfile.TemporaryDirectory() as base:
        probe = Machine(Path(base) / "probe")
        env = {key: text.replace(str(probe.base), base) for key, text in probe.env.items()}
        shutil.rmtree(probe.base)
        more = {"TOOLCRIB_JOURNEY": base, "QT_QPA_PLATFORM": "offscreen"}
        command = [sys.executable, __file__, "window", *rest]
        done = subprocess.run(command, env={**env, **more}, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
