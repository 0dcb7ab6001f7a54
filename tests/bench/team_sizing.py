"""The sizing table of a team's server: measures of a run, and a projection from them."""

from pathlib import Path

from store.typed import Json
from tests.bench.report import Column, Report, label, table

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


def report(result: Json) -> Report:
    """The measures as a table of tests/bench/RESULTS.md."""
    columns = (
        label("a caller sees"), Column("tools"), label("plan"), Column("recall@20 %"),
        *map(Column, ("database CPU ms", "replica CPU ms", "search p95 ms", "vectors p95 ms")),
        *map(Column, ("vectors CPU ms", "sqlite-vec p95 ms", "sqlite-vec CPU ms")),
    )  # fmt: skip
    rows = [
        (
            name, one["tools"], one["plan"], round(100 * one["recall_at_20"], 2),
            one["search_database_cpu_ms"], one["search_replica_cpu_ms"], one["search_ms"]["p95"],
            one["nearest_ms"]["p95"], one["nearest_database_cpu_ms"],
            one["sqlite_vec"]["nearest_ms"]["p95"], one["sqlite_vec"]["nearest_cpu_ms"],
        )
        for name, one in result["scopes"].items()
    ]  # fmt: skip
    return Report(
        "team --scale",
        (table(f"{result['tools']:,} tools of a team, by what a caller sees", columns, rows),),
        (
            "Recall counts, of the 20 nearest by numpy in float32 over all that the caller sees,"
            " those found by id; of tools at the same distance within float16's rounding, either"
            " may be the 20th, and the other one counts as missed.",
        ),
    )


def _row(name: str, one: Json) -> str:
    lite = one.get("sqlite_vec")

    def pair(value: Json) -> str:
        return f"{value['p50']:.1f} / {value['p95']:.1f}"

    return (
        f"| {name} | {one['tools']:,} | {one['plan']} | {one['recall_at_20']:.4f}"
        f" | {one['search_database_cpu_ms']:.0f} | {one['search_replica_cpu_ms']:.0f}"
        f" | {pair(one['search_ms'])} | {pair(one['nearest_ms'])}"
        f" | {pair(lite['nearest_ms']) if lite else '-'} |"
    )


def write(result: Json, file: Path) -> None:
    """Put the table between the marks of a document."""
    head, _, rest = file.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    file.write_text(f"{head}{_BEGIN}\n{text(result)}{_END}{tail}", encoding="utf-8")
