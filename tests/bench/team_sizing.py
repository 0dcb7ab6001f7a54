"""The sizing table of a team's server: a projection from CPU and bytes that were measured."""

from store.typed import Json

MEMBERS, TOOLS = 3_000, 10_000_000
_PER_MEMBER_DAY = 60  # searches of a member in a day of eight hours
_PEAK = 3 * MEMBERS * _PER_MEMBER_DAY / (8 * 3_600)  # three times the mean of a day


def projection(result: Json) -> Json:
    """Searches that a core carries, and machines for MEMBERS and TOOLS."""
    tables: Json = result["scopes"]
    per_tool = {name: size / result["tools"] for name, size in result["bytes"].items()}
    indexed = sum(t["tools"] for n, t in tables.items() if " of " not in n and t["plan"] == "HNSW")
    near = result["bytes"]["near"] / indexed if indexed else 0.0
    built = sum(one["cpu"] for one in result["index_seconds"].values())
    return {
        "searches_a_second": _PEAK,
        "per_core": {
            name: {
                "database": 1000 / max(table["search_database_cpu_ms"], 1e-6),
                "replica": 1000 / max(table["search_replica_cpu_ms"], 1e-6),
            }
            for name, table in tables.items()
        },
        "cores_for_members": {
            name: {
                "database": _PEAK * table["search_database_cpu_ms"] / 1000,
                "replica": _PEAK * table["search_replica_cpu_ms"] / 1000,
            }
            for name, table in tables.items()
        },
        "disk_gb": TOOLS * (per_tool["database"] - per_tool["near"]) / 1e9 + TOOLS * near / 1e9,
        "index_gb": TOOLS * near / 1e9,
        "index_build_core_hours": TOOLS * built / max(indexed, 1) / 3_600,
    }
