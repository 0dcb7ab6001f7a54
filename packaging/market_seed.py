"""Makes resources/market/seed.jsonl: servers that can be found before any registry was synced.

Usage: market_seed.py DATA   (../shared/data, with catalog/ and registry/)

Facts and own sentences only: packages with their versions, licences, variables' names, and for each
tool the key of its requests in resources/requests, which hold its name. No text of a server or of
an index is taken over. Tokens are counted on the real lists of the catalogue, with o200k_base.
"""

import json
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from app.ranking.requests import pack_key, read_named_pack  # noqa: E402
from app.tokens.counters import counter  # noqa: E402
from app.tokens.host_text import host_text  # noqa: E402
from store.hashes import text_hash  # noqa: E402

OUT = HERE.parent / "resources" / "market" / "seed.jsonl"
RUNTIMES = {"node": "npm", "python": "pypi"}
NOT_STATED = ("unknown", "none stated", "", None)
# set when the lists were read, or by an index; the servers work without
OPTIONAL = frozenset(
    (
        "AWS_ACCESS_KEY_ID",
        "AWS_EC2_METADATA_DISABLED",
        "AWS_REGION",
        "AWS_SECRET_ACCESS_KEY",
        "DO_NOT_TRACK",
        "FASTMCP_LOG_LEVEL",
        "KUBECONFIG_PATH",
        "MDB_MCP_API_CLIENT_ID",
        "MDB_MCP_API_CLIENT_SECRET",
        "MDB_MCP_TELEMETRY",
        "MEMORY_FILE_PATH",
        "MYSQL_PORT",
        "NODE_ENV",
        "NODE_OPTIONS",
        "PRO_MODE",
        "USE_GITLAB_WIKI",
        "USE_MILESTONE",
        "USE_PIPELINE",
        "XCODEBUILDMCP_SENTRY_DISABLED",
    )
)


def main(data: Path) -> None:
    """Write the seed, servers by package."""
    pack = read_named_pack()
    rows = {row["p"]: row for row in from_index(data / "registry", pack)}
    rows |= {row["p"]: row for row in from_pack()}
    rows |= {row["p"]: row for row in from_catalog(data / "catalog" / "real_catalog.jsonl", pack)}
    lines = [json.dumps(rows[key], separators=(",", ":")) for key in sorted(rows)]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    tools = sum(len(row["t"].split()) for row in rows.values())
    print(f"{len(rows)} servers, {tools} tools, {OUT.stat().st_size} bytes")


def from_index(folder: Path, pack):
    """Packages of the public index whose tools were read: no version is known."""
    keys: dict[str, list[str]] = {}
    for tool in map(json.loads, (folder / "toolsdk_tools.jsonl").open(encoding="utf-8")):
        key = key_of(tool)
        if key in pack:
            keys.setdefault(tool["server"], []).append(key)
    for one in map(json.loads, (folder / "toolsdk_packages.jsonl").open(encoding="utf-8")):
        name, kind = one["packageName"], RUNTIMES.get(one.get("runtime"))
        if kind is None or name not in keys or name.startswith("@toolsdk-remote/"):
            continue
        env = {n: bool(v.get("required")) for n, v in (one.get("env") or {}).items()}
        yield row(f"{kind}:{name}", "", one.get("license"), env, [], " ".join(keys[name]))


def from_pack():
    """Servers of the request pack: their versions are pinned."""
    listed = tomllib.loads((HERE / "pack_servers.toml").read_text(encoding="utf-8"))["server"]
    for one in listed:
        file = HERE.parent / "resources" / "requests" / one["file"]
        lines = file.read_text(encoding="utf-8").splitlines()
        keys = " ".join(line.split("\t")[0] for line in lines)
        name, kind = one["package"], one["from"]
        args = [word for need in one.get("with", ()) for word in ("--with", need)]
        if "python" in one:
            args += ["--python", one["python"].removeprefix("python")]
        script = one["command"] if kind == "pypi" and one["command"] != name else ""
        env = dict.fromkeys(one.get("env", {}), True)
        yield row(f"{kind}:{name}", one["version"], one["licence"], env, args, keys, script)


def from_catalog(file: Path, pack):
    """Servers whose real lists were read, with tokens."""
    count = counter("o200k_base").count
    for one in map(json.loads, file.open(encoding="utf-8")):
        keys = []
        for tool in one["tools"]:
            key = key_of(tool)
            if key in pack:
                tokens = count(host_text(tool))
                keys.append(f"{key}:{tokens}")
        args = one["args"]
        script = args[2] if args[:1] == ["--from"] and len(args) > 2 else ""
        env = dict.fromkeys(one["env_names"], True)
        if keys:
            kind = one["registry"]
            name = one["package"]
            yield row(
                f"{kind}:{name}", one["version"], one["license"], env, [], " ".join(keys), script
            )


def row(package, version, licence, env, args, keys, script=""):
    """One line of the seed; what is not known is left out."""
    given = {
        "p": package,
        "v": version or "",
        "l": "" if licence in NOT_STATED else licence,
        "e": [
            f"{name}!" if needed and name not in OPTIONAL else name for name, needed in env.items()
        ],
        "a": args,
        "s": script,
    }
    return {key: value for key, value in given.items() if value} | {"t": keys}


def key_of(tool) -> str:
    """What the pack has a listed tool under."""
    words = str(tool.get("description") or "").split()
    return pack_key(text_hash(f"{tool['name']}\0{' '.join(words)}"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
