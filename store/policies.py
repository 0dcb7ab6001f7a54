"""Policy files of repositories, and which of their texts are trusted."""

import apsw

TYPE_CHECKING = False  # a gateway that meets no policy file loads no record classes
if TYPE_CHECKING:
    from store.records import PolicyTrust, ProfileFile

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


def trust_of(db: apsw.Connection, path: str) -> "PolicyTrust":
    """The decisions on a policy file."""
    from store.records import PolicyTrust

    sql = "SELECT trusted_hash, trusted_text, put_off FROM policies WHERE path = ?"
    row = db.execute(sql, (path,)).fetchone()
    return PolicyTrust(*row) if row else PolicyTrust()


def set_trust(db: apsw.Connection, path: str, trust: "PolicyTrust", at: float) -> None:
    """Replace the decisions on a policy file."""
    db.execute(
        "INSERT INTO policies (path, hash, trusted_hash, trusted_text, put_off, seen)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET"
        " trusted_hash = excluded.trusted_hash, trusted_text = excluded.trusted_text,"
        " put_off = excluded.put_off",
        (path, trust.digest or trust.put_off, trust.digest, trust.text, trust.put_off, at),
    )


def all_policies(db: apsw.Connection) -> list[tuple[str, str, str, float]]:
    """(path, hash, trusted hash, time it was met last), the newest first."""
    sql = "SELECT path, hash, trusted_hash, seen FROM policies ORDER BY seen DESC"
    return list(db.execute(sql))


def profile_file(db: apsw.Connection, profile_id: int) -> "ProfileFile | None":
    """The policy file that a profile takes its values from, None for none."""
    from store.records import ProfileFile

    sql = "SELECT path, hash, problem FROM profile_policies WHERE profile_id = ?"
    row = db.execute(sql, (profile_id,)).fetchone()
    return ProfileFile(*row) if row else None


def set_profile_file(db: apsw.Connection, profile_id: int, file: "ProfileFile | None") -> None:
    """Let a profile take its values from a file, None for its own."""
    if file is None:
        db.execute("DELETE FROM profile_policies WHERE profile_id = ?", (profile_id,))
    else:
        db.execute(
            "INSERT OR REPLACE INTO profile_policies (profile_id, path, hash, problem)"
            " VALUES (?, ?, ?, ?)",
            (profile_id, file.path, file.hash, file.problem),
        )


def profiles_with_file(db: apsw.Connection) -> list[str]:
    """Names of the profiles that take their values from a file."""
    sql = "SELECT name FROM profiles JOIN profile_policies ON profile_id = id ORDER BY id"
    return [str(row[0]) for row in db.execute(sql)]


def path_of_profile(db: apsw.Connection, profile: str) -> str:
    """Path of the file that a profile takes its values from, "" for none."""
    sql = "SELECT path FROM profile_policies JOIN profiles ON id = profile_id WHERE name = ?"
    row = db.execute(sql, (profile,)).fetchone()
    return str(row[0]) if row else ""
