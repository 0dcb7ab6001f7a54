"""The largest size of a profile's tools in a host, by day."""

import apsw

KEPT_DAYS = 90


def note(
    db: apsw.Connection, day: int, profile: str, tokens: int, tools: int, *, over: bool
) -> None:
    """Remember a size; of a day's the largest is kept."""
    db.execute(
        "INSERT INTO size_days (day, profile, tokens, tools, over) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (day, profile) DO UPDATE SET tokens = excluded.tokens,"
        " tools = excluded.tools, over = excluded.over WHERE excluded.tokens > tokens"
        " OR excluded.tokens = tokens AND excluded.over <> over",
        (day, profile, tokens, tools, int(over)),
    )
    db.execute("DELETE FROM size_days WHERE day < ?", (day - KEPT_DAYS,))


def since(db: apsw.Connection, profile: str, day: int) -> list[tuple[int, int, bool]]:
    """(day, tokens, over the budget) of a profile since a day, the oldest first."""
    sql = "SELECT day, tokens, over FROM size_days WHERE profile = ? AND day >= ? ORDER BY day"
    return [(at, tokens, bool(over)) for at, tokens, over in db.execute(sql, (profile, day))]
