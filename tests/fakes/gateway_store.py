"""Fills a store as a scan would, from an mcpServers config: a raw reading of every server."""

import contextlib
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from app.core.paths import Paths
from app.hosts.launch import LaunchSpec
from app.ranking.keyword import keyword_row
from app.ranking.summary import make_summary
from app.secrets.secret_store import SecretStore
from store import events, profiles, servers, tools
from store.connection import open_store, transaction
from store.hashes import tool_hash
from store.records import EntryRecord, NewTool, SelfDescription, Summary
from store.search import save_keywords

_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "stock", "version": "0"},
}

_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": _HELLO["clientInfo"],
    "io.modelcontextprotocol/clientCapabilities": {},
}


def read(launch: dict, seconds: float = 20) -> dict | None:
    """What a server says of itself, or None when it cannot be started or does not answer."""
    import os

    try:
        process = subprocess.Popen(
            [launch["command"], *launch["args"]],
            env={**os.environ, **launch.get("env", {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(_talk, process)
            try:
                return future.result(seconds)
            except Exception:
                return None
            finally:
                with contextlib.suppress(psutil.NoSuchProcess):
                    for child in psutil.Process(process.pid).children(recursive=True):
                        child.kill()
                process.kill()
    finally:
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _talk(process: subprocess.Popen) -> dict:
    count, modern = 0, False

    def ask(method: str, params: dict) -> dict:
        nonlocal count
        count += 1
        given = {**params, "_meta": _ENVELOPE} if modern else params
        message = {"jsonrpc": "2.0", "id": count, "method": method, "params": given}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if answer.get("id") == count and "method" not in answer:
                if count == 1 and "error" in answer:
                    return answer
                return answer.get("result", {})
        raise EOFError

    found = ask("initialize", _HELLO)
    modern = "error" in found
    if modern:
        if found["error"].get("code") != -32022:
            raise EOFError
        found = ask("server/discover", {})
    else:
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    about = found.get("_meta", {}).get("io.modelcontextprotocol/serverInfo", {})
    found.setdefault("serverInfo", about)
    found["era"] = "modern" if modern else "legacy"
    capabilities = found.get("capabilities", {})
    found["tools"] = ask("tools/list", {}).get("tools", [])
    for method, part, key in (
        ("prompts/list", "prompts", "prompts"),
        ("resources/list", "resources", "resources"),
        ("resources/templates/list", "resources", "resourceTemplates"),
    ):
        found[key] = ask(method, {}).get(key, []) if part in capabilities else []
    return found


def stock(
    home: Path,
    config: dict,
    profile: str = "default",
    settings: dict | None = None,
    *,
    encode: bool = False,
) -> Path:
    """Make Toolcrib's folder `home` know the config's servers; the database."""
    paths = Paths(home, home / "models")
    db = open_store(paths.database)
    with ThreadPoolExecutor(2) as pool:
        readings = dict(zip(config, pool.map(read, config.values()), strict=True))
    secrets = SecretStore.open(paths)
    secrets._looked = True  # the file, never the machine's keychain
    with transaction(db):
        if profiles.by_name(db, profile) is None:
            profiles.create(db, profile)
        record = profiles.by_name(db, profile)
        profiles.save_settings(db, record.id, settings or {})
        for name, launch in config.items():
            spec, hidden = LaunchSpec(
                "stdio", launch["command"], tuple(launch["args"]), launch.get("env", {})
            ).to_spec(b"key")
            entry = EntryRecord("manual", "manual", "", name)
            server_id = servers.place(db, entry, spec, name=name, trusted=True)
            secrets.put(spec.key, hidden)
            _save(db, server_id, readings[name])
    db.close()
    if encode:
        _encode(paths)
    return paths.database


def _save(db, server_id: int, reading: dict | None) -> None:
    if reading is None:
        servers.set_status(db, server_id, "could not start", "it did not answer")
        return
    now = time.time()
    new = []
    for raw in reading["tools"]:
        new.append(NewTool(raw.get("name", ""), raw, tool_hash(raw)))
    tools.save_list(db, server_id, new, now)
    described = SelfDescription(
        server_info=reading.get("serverInfo", {}),
        capabilities=reading.get("capabilities", {}),
        instructions=reading.get("instructions", ""),
        prompts=reading["prompts"],
        resources=reading["resources"],
        templates=reading["resourceTemplates"],
        list_hash=str(len(new)),
        taken_with={"protocol": reading.get("protocolVersion", ""), "era": reading["era"]},
    )
    servers.save_reading(db, server_id, described, at=now)
    rows = tools.tools(db, server_id)
    save_keywords(db, [keyword_row(tool) for tool in rows])
    tools.save_summaries(db, [Summary(t.id, make_summary(t), "made", t.hash) for t in rows])


def _encode(paths: Path) -> None:
    """Embed every summary, as the scan does."""
    import os

    from app.encoder.onnx import Encoder
    from app.encoder.weights import find_model
    from store import vectors
    from store.records import Vector

    files = find_model(Paths.default(os.environ), "all-MiniLM-L6-v2")
    encoder = Encoder.load(files)
    db = open_store(paths.database)
    made = tools.summaries(db)
    rows = [encoder.encode([one.text])[0].astype("<f4").tobytes() for one in made.values()]
    with transaction(db):
        found = zip(made.values(), rows, strict=True)
        vectors.save(
            db, [Vector(s.tool_id, encoder.key, "summary", s.hash, data) for s, data in found]
        )
    vectors.ensure_index(db, encoder.key, encoder.dims)
    db.close()


if __name__ == "__main__":  # a stand-in for `toolcrib import --scan` under the judge
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["mcpServers"]
    changed = json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}
    stock(Path(sys.argv[2]), given, sys.argv[3], changed, encode=len(given) > 9)


def recorded(database, kind):
    """The events of a kind that a gateway stored, newest first."""
    db = open_store(database)
    try:
        return [e for e in events.recent(db, 200) if e.kind == kind]
    finally:
        db.close()
