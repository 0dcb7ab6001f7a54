"""Bundles: fetched, checked, unpacked and started by their manifest; hostile ones are refused."""

import contextlib
import hashlib
import io
import json
import os
import stat
import struct
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import apsw
import pytest

from app.catalog.catalog import load_catalog, trust_server
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.market.bundle import BundleError, BundleLimits, read_manifest, unpack
from app.market.bundle_fetch import fetched
from app.market.entry import read_entry
from app.market.launch import choices, launch_of, shown_command
from app.market.records import entry_of, row_of
from app.registry import updating
from app.registry.importing import add_server
from app.registry.installing import install, ready
from app.registry.register import stored_launch, targets
from app.registry.scan import ScanOptions, scan
from app.secrets.secret_store import SecretStore
from store import market, servers, tools
from store.connection import transaction
from store.market import MarketSource

SERVER = Path(__file__).parents[2] / "fakes" / "changing_server.py"
MANIFEST: dict[str, Any] = {
    "manifest_version": "0.3",
    "name": "sky",
    "server": {
        "type": "python",
        "entry_point": "server/main.py",
        "mcp_config": {
            "command": "python3",
            "args": ["${__dirname}/server/main.py", "--place", "${user_config.place}",
                     "${user_config.folders}", "--level=${user_config.level}"],
            "env": {"CHANGING_TOOLS": "${__dirname}/tools.json", "CHANGING_LOG": os.devnull,
                    "SKY_KEY": "${user_config.key}"},
        },
    },
    "user_config": {
        "place": {"type": "string", "title": "Place", "required": True},
        "key": {"type": "string", "title": "Key", "required": True, "sensitive": True},
        "folders": {"type": "directory", "title": "Folders", "multiple": True},
        "level": {"type": "number", "title": "Level"},
    },
}  # fmt: skip
TOOLS = [{"name": "look", "description": "Look", "inputSchema": {"type": "object"}}]


def archive(files: dict[str, bytes | str], manifest: object = MANIFEST) -> bytes:
    """A bundle with these files and a manifest."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        if manifest is not None:
            made.writestr("manifest.json", json.dumps(manifest))
        for name, data in files.items():
            made.writestr(name, data)
    return out.getvalue()


def good() -> bytes:
    return archive({"server/main.py": SERVER.read_bytes(), "tools.json": json.dumps(TOOLS)})


def with_info(change: Callable[[zipfile.ZipInfo], None], name: str = "a") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        info = zipfile.ZipInfo(name)
        change(info)
        made.writestr(info, "/etc/passwd")
    return out.getvalue()


def link(info: zipfile.ZipInfo) -> None:
    info.external_attr = (stat.S_IFLNK | 0o777) << 16


def device(info: zipfile.ZipInfo) -> None:
    info.external_attr = (stat.S_IFCHR | 0o666) << 16


def lying() -> bytes:
    """An archive that says that a file of 8 MB has 10 bytes."""
    data = bytearray(archive({"big": b"\0" * (8 << 20)}, None))
    place = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, place + 24, 10)
    return bytes(data)


def encrypted() -> bytes:
    data = bytearray(archive({"a": b"x" * 40}, None))
    place = data.rindex(b"PK\x01\x02")
    struct.pack_into("<H", data, place + 8, 1)
    return bytes(data)


FEW = BundleLimits(download=4 << 20, unpacked=64 << 20, files=100, ratio=200, seconds=5)
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a parent folder": (lambda: archive({"../../evil": "x"}), "outside of its folder"),
    "an absolute path": (lambda: archive({"/tmp/evil": "x"}), "outside of its folder"),
    "a drive of Windows": (lambda: archive({"C:/evil": "x"}), "outside of its folder"),
    "a parent folder of Windows": (lambda: archive({"a\\..\\evil": "x"}), "outside of its folder"),
    "a name that Windows keeps": (lambda: archive({"server/NUL.txt": "x"}), "outside of its"),
    "a link": (lambda: with_info(link), "a link or a device"),
    "a device": (lambda: with_info(device), "a link or a device"),
    "a bomb": (lambda: archive({"bomb": b"\0" * (60 << 20)}), "times its size"),
    "more than fits": (lambda: archive({"big": b"\0" * (65 << 20)}), "would take 65 MB"),
    "a size that lies": (lying, "no archive that can be read"),
    "files without end": (lambda: archive({f"f{n}": "" for n in range(200)}), "201 files"),
    "a name in two spellings": (lambda: archive({"A": "x", "a": "y"}), "in it twice"),
    "a password": (encrypted, "is encrypted"),
    "no archive": (lambda: b"<html>Log in</html>", "no archive that can be read"),
    "half an archive": (lambda: good()[: len(good()) // 2], "no archive that can be read"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_and_nothing_of_it_stays(case: str, tmp_path: Path) -> None:
    make, reason = HOSTILE[case]
    file, folder = tmp_path / "x.mcpb", tmp_path / "in" / "here"
    file.write_bytes(make())
    with pytest.raises(BundleError) as caught, file.open("rb") as opened:
        unpack("com.example/sky", opened, folder, FEW)
    assert reason in caught.value.title and "com.example/sky" in caught.value.title
    assert "Nothing was unpacked" in caught.value.hint and caught.value.title.isprintable()
    outside = [one for one in tmp_path.rglob("*") if one.is_file() and folder not in one.parents]
    assert outside == [file] and not Path("/tmp/evil").exists()


def manifest(**fields: Any) -> dict[str, Any]:
    config = {**MANIFEST["server"]["mcp_config"], **fields}
    return {**MANIFEST, "server": {**MANIFEST["server"], "mcp_config": config}}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (None, "no manifest that can be read"),
        ([1], "no manifest that can be read"),
        ({}, "names no command"),
        (manifest(command="bash", args=["-c", "evil"]), "is not in it"),
        (manifest(command="/bin/sh"), "is not in it"),
        (manifest(command="${__dirname}/../../../bin/sh"), "is not in it"),
        (manifest(env={"LD_PRELOAD": "${__dirname}/x.so"}), "LD_PRELOAD"),
        (manifest(args=["a\nb"]), "not drawn"),
    ],
)
def test_a_hostile_manifest_is_refused(given: object, reason: str, tmp_path: Path) -> None:
    data = archive({"server/main.py": "x"}, given)
    unpack("com.example/sky", io.BytesIO(data), tmp_path / "in")
    with pytest.raises(BundleError, match=reason):
        read_manifest("com.example/sky", tmp_path / "in")


class Files(ThreadingHTTPServer):
    """One file at /sky.mcpb; `/moved` redirects there."""

    daemon_threads = True

    def __init__(self, body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body, self.asked = body, 0
        self.stopped = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/sky.mcpb"


class _Handler(BaseHTTPRequestHandler):
    server: Files

    def do_GET(self) -> None:
        self.server.asked += 1
        moved = self.path.startswith("/moved")
        self.send_response(302 if moved else 200)
        if moved:
            to = "http://[bad" if "nowhere" in self.path else self.path.removeprefix("/moved")
            self.send_header("Location", to)
        if "/never" in self.path:
            with contextlib.suppress(OSError):
                while not self.server.stopped.wait(0.02):
                    self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.end_headers()
        self.wfile.write(b"" if moved else self.server.body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def files() -> Iterator[Files]:
    server = Files(good())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.stopped.set()
    server.shutdown()
    server.server_close()
    thread.join(5)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_bundle_is_fetched_checked_unpacked_and_read(
    ctx: AppContext, db: apsw.Connection, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    package = {"registryType": "mcpb", "identifier": files.url, "fileSha256": sha(files.body),
               "version": "1.0.0"}  # fmt: skip
    entry = read_entry({"name": "com.example/sky", "packages": [package]})
    (way,) = choices(entry, private=True)
    assert way.problem == "" and "checksum" in shown_command(entry, way, private=True)
    assert choices(entry)[0].problem  # a public list leads to no address of this machine
    now = ready(ctx, entry, way, private=True)
    assert [(f.key, f.wanted, f.input.secret) for f in now.fields] == [
        ("place", True, False), ("key", True, True), ("folders", False, False),
        ("level", False, False),
    ]  # fmt: skip
    with pytest.raises(ToolcribError, match="needs a value for place, key"):
        launch_of(entry, now, {}, private=True)
    values = {"place": "a b", "key": "k-1", "folders": "/x\n/y z"}
    launch = launch_of(entry, now, values, private=True)
    folder = ctx.paths.home / "bundles" / sha(files.body)
    assert launch.args == (f"{folder}/server/main.py", "--place", "a b", "/x", "/y z")
    assert launch.env["SKY_KEY"] == "k-1" and launch.cwd == str(folder)
    add_server(ctx, db, "sky", launch)
    report = scan(ctx, targets(ctx, db), ScanOptions(prepare_encoder=False))
    assert [one.status for one in report.servers] == ["read"], report
    assert [one.name for one in tools.tools(db)] == ["look"]
    ready(ctx, entry, way, private=True)
    assert files.asked == 1  # what is unpacked is not fetched again


def test_another_checksum_or_a_size_without_end_unpacks_nothing(
    tmp_path: Path, files: Files
) -> None:
    name = "com.example/sky"
    with pytest.raises(BundleError, match="another checksum"):
        fetched(name, files.url, "0" * 64, tmp_path / "b", private=True)
    with pytest.raises(BundleError, match="larger than 0 MB"):
        few = BundleLimits(download=100)
        fetched(name, files.url, sha(files.body), tmp_path / "b", private=True, limits=few)
    with pytest.raises(BundleError, match="could not be fetched"):
        fetched(
            name,
            files.url.replace("/sky", "/moved/nowhere"),
            "0" * 64,
            tmp_path / "b",
            private=True,
        )
    with pytest.raises(BundleError, match="could not be fetched"):
        short = BundleLimits(longest=0.2)
        fetched(name, files.url + "/never", "0" * 64, tmp_path / "b", private=True, limits=short)
    assert list((tmp_path / "b").iterdir()) == []
    moved = files.url.replace("/sky", "/moved/sky")
    fetched(name, moved, sha(files.body), tmp_path / "b", private=True)
    assert [one.name for one in (tmp_path / "b").iterdir()] == [sha(files.body)]


def test_a_public_bundle_is_never_fetched_from_this_network(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="this machine or its network"):
        fetched(
            "com.example/sky", "https://example.com/x.mcpb", "0" * 64, tmp_path,
            look_up=lambda _host, _port: ["10.0.0.1"],
        )  # fmt: skip


def listed(db: apsw.Connection, files: Files, version: str) -> MarketSource:
    """The registry's entry of the file that is served now."""
    url = files.url.replace("/sky.mcpb", f"/them/sky/releases/{version}/sky.mcpb")
    package = {"registryType": "mcpb", "identifier": url, "fileSha256": sha(files.body),
               "version": version}  # fmt: skip
    raw = {"name": "com.example/sky", "version": version, "packages": [package]}
    with transaction(db):
        if not any(one.name == "team" for one in market.sources(db)):
            market.add_source(db, MarketSource(0, "https://team.example", "team", private=True))
        source = next(one for one in market.sources(db) if one.name == "team")
        market.save(db, source, [row_of(read_entry(raw))])
    return source


def test_a_bundle_is_updated_in_place_by_a_preview_and_taken_back_in_one_step(
    ctx: AppContext, db: apsw.Connection, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    source = listed(db, files, "1.0.0")
    entry = entry_of(market.by_name(db, "com.example/sky")[0])
    way = ready(ctx, entry, choices(entry, private=True)[0], private=True)
    values = {"place": "a b", "key": "k-1-s3cret-value", "folders": "/x\n/y z"}
    launch = launch_of(entry, way, values, private=True)
    installed = install(ctx, db, entry, way, launch, source=source, values=values)
    (server_id,) = installed.registered.server_ids
    scan(ctx, targets(ctx, db), ScanOptions(prepare_encoder=False))
    trust_server(db, server_id, 1.0)
    old = Path(launch.cwd)

    more = [*TOOLS, {"name": "snow", "description": "Snow", "inputSchema": {"type": "object"}}]
    config = {**MANIFEST["user_config"], "unit": {"type": "string", "required": True}}
    files.body = archive(
        {"server/main.py": SERVER.read_bytes(), "tools.json": json.dumps(more)},
        {**MANIFEST, "user_config": config},
    )
    listed(db, files, "1.1.0")
    wanted = updating.offer(ctx, db, "sky")
    assert wanted.to_fetch and "downloads" in wanted.command and files.asked == 1
    wanted = updating.fetched(ctx, wanted)
    assert files.asked == 2 and [field.key for field in wanted.lacking] == ["unit"]
    assert dict(wanted.values) == values, "also the secret one, out of the launch of before"
    wanted = wanted.with_values({"unit": "mm"})
    change = updating.read(ctx, db, wanted)
    assert [name for name, _cost in change.added] == ["snow"] and change.removed == ()
    record = servers.by_name(db, "sky")
    assert record is not None and record.spec.cwd == str(old), "nothing changed yet"

    updating.take(ctx, db, wanted)
    record = servers.by_name(db, "sky")
    assert record is not None and record.id == server_id
    assert record.spec.cwd == str(ctx.paths.home / "bundles" / sha(files.body))
    report = scan(ctx, targets(ctx, db), ScanOptions(prepare_encoder=False))
    assert [one.status for one in report.servers] == ["read"]
    assert {one.name for one in tools.tools(db) if not one.gone} == {"look", "snow"}

    assert updating.back(ctx, db, "sky") == "1.0.0" and files.asked == 2
    record = servers.by_name(db, "sky")
    assert record is not None and record.spec.cwd == str(old)
    again = stored_launch(record, SecretStore.open(ctx.paths))
    assert again is not None and again.env["SKY_KEY"] == "k-1-s3cret-value"
    scan(ctx, targets(ctx, db), ScanOptions(prepare_encoder=False))
    assert {one.tool.name for one in load_catalog(db).shown} == {"look"}
