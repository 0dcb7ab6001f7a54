"""The sizing table of a team's server: measures of a run, and a projection from them."""

from pathlib import Path

from store.typed import Json

MEMBERS, TOOLS = 3_000, 10_000_000
_PER_MEMBER_DAY = 60  # searches of a member in a day of eight hours
_PEAK = 3 * MEMBERS * _PER_MEMBER_DAY / (8 * 3_600)  # three times the mean of a day
_BEGIN, _END = "<!-- sizing: begin -->", "<!-- sizing: end -->"


def projection(result: Json) -> Json:
    """Searches that a core carries, and machines for MEMBERS and TOOLS."""
    tables: Json = result["scopes"]
    indexed = sum(t["tools"] for n, t in tables.items() if " of " not in n and t["plan"] == "HNSW")
    near = result["bytes"]["near"] / max(indexed, 1)
    rest = (result["bytes"]["database"] - result["bytes"]["near"]) / result["tools"]
    built = sum(result["index_seconds"].values())
    return {
        "searches_a_second": _PEAK,
        "scopes": {name: _cores(table) for name, table in tables.items()},
        "disk_gb": TOOLS * (rest + near) / 1e9,
        "index_gb": TOOLS * near / 1e9,
        "index_build_hours": TOOLS * built / max(indexed, 1) / 3_600,
    }


def _cores(table: Json) -> Json:
    database, replica = table["search_database_cpu_ms"], table["search_replica_cpu_ms"]
    return {
        "searches_per_database_core": 1000 / max(database, 1e-6),
        "searches_per_replica_core": 1000 / max(replica, 1e-6),
        "database_cores": _PEAK * database / 1000,
        "replica_cores": _PEAK * replica / 1000,
    }


def text(result: Json) -> str:
    """Both as Markdown."""
    lines = [
        f"Measured with {result['tools']:,} tools of {result['organisations']} organisations on a"
        " shared machine of two cores (vectors of real tools, perturbed; milliseconds; CPU of a"
        " whole search, words and meaning together; times of the vectors alone beside sqlite-vec"
        " over the same rows):",
        "",
        "| a caller sees | tools | plan | recall@20 | database CPU | replica CPU |"
        " search p50 / p95 | vectors p50 / p95 | sqlite-vec p50 / p95 |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [_row(name, table) for name, table in result["scopes"].items()]
    projected = result["projection"]
    lines += [
        "",
        f"**Projection** (computed, not measured): {MEMBERS:,} members with {_PER_MEMBER_DAY}"
        f" searches a day, at a peak three times the mean ({_PEAK:.1f} a second).",
        "",
        "| a caller sees | searches per second and core: database / replica |"
        " cores at the peak: database / replica |",
        "|---|--:|--:|",
    ]
    lines += [
        f"| {name} | {one['searches_per_database_core']:.0f}"
        f" / {one['searches_per_replica_core']:.0f}"
        f" | {one['database_cores']:.1f} / {one['replica_cores']:.1f} |"
        for name, one in projected["scopes"].items()
    ]
    lines += [
        "",
        f"{TOOLS:,} tools, as a projection of bytes and CPU above:"
        f" {projected['disk_gb']:.0f} GB on disk,"
        f" of which {projected['index_gb']:.0f} GB are indexes of vectors that belong in memory;"
        f" {projected['index_build_hours']:.1f} hours to build them with two processes as busy as"
        " here.",
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, table: Json) -> str:
    lite = table.get("sqlite_vec")

    def pair(value: Json) -> str:
        return f"{value['p50']:.1f} / {value['p95']:.1f}"

    return (
        f"| {name} | {table['tools']:,} | {table['plan']} | {table['recall_at_20']:.4f}"
        f" | {table['search_database_cpu_ms']:.0f} | {table['search_replica_cpu_ms']:.0f}"
        f" | {pair(table['search_ms'])} | {pair(table['nearest_ms'])}"
        f" | {pair(lite['nearest_ms']) if lite else '-'} |"
    )


def write(result: Json, file: Path) -> None:
    """Put the table between the marks of a document."""
    head, _, rest = file.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    file.write_text(f"{head}{_BEGIN}\n{text(result)}{_END}{tail}", encoding="utf-8")
