"""Policy files of repositories, and which of their texts are trusted."""

import apsw

_MOST = 1_000  # files remembered


def note(db: apsw.Connection, path: str, digest: str, at: float) -> None:
    """Remember that a session met this text of a policy file."""
    db.execute(
        "INSERT INTO policies (path, hash, seen) VALUES (?, ?, ?)"
        " ON CONFLICT (path) DO UPDATE SET hash = excluded.hash, seen = excluded.seen",
        (path, digest, at),
    )
    db.execute(
        "DELETE FROM policies WHERE path NOT IN"
        " (SELECT path FROM policies ORDER BY trusted_hash = '', seen DESC LIMIT ?)",
        (_MOST,),
    )


def trust(db: apsw.Connection, path: str, digest: str, at: float) -> None:
    """Let this text of a policy file count; "" takes the trust back."""
    db.execute(
        "INSERT INTO policies (path, hash, trusted_hash, seen) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (path) DO UPDATE SET trusted_hash = excluded.trusted_hash",
        (path, digest, digest, at),
    )


def distrust(db: apsw.Connection, path: str) -> bool:
    """Take the trust back; False where there was none."""
    db.execute(
        "UPDATE policies SET trusted_hash = '' WHERE path = ? AND trusted_hash != ''", (path,)
    )
    return db.changes() > 0


def trusted_hash(db: apsw.Connection, path: str) -> str:
    """Hash of the text that is trusted, "" for none."""
    row = db.execute("SELECT trusted_hash FROM policies WHERE path = ?", (path,)).fetchone()
    return str(row[0]) if row else ""


def all_policies(db: apsw.Connection) -> list[tuple[str, str, str, float]]:
    """(path, hash, trusted hash, time it was met last), the newest first."""
    sql = "SELECT path, hash, trusted_hash, seen FROM policies ORDER BY seen DESC"
    return list(db.execute(sql))
