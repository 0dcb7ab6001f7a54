-- policy files of repositories that a host's session met; one counts once its text is trusted
CREATE TABLE policies (
  path TEXT PRIMARY KEY,
  hash TEXT NOT NULL,          -- of the file when it was met last
  trusted_hash TEXT NOT NULL DEFAULT '',
  seen REAL NOT NULL           -- seconds since the epoch
) WITHOUT ROWID;
