-- catalogues split into profiles, proposals put off, and what is behind tools that hide others
CREATE TABLE splits (
  id INTEGER PRIMARY KEY,
  made REAL NOT NULL,          -- seconds since the epoch
  profile TEXT NOT NULL,       -- that was split
  detail TEXT NOT NULL,        -- JSON: the profiles made, writes of hosts' files, policy files
  undone REAL NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE put_off (
  proposal TEXT PRIMARY KEY,   -- its key
  title TEXT NOT NULL,         -- as it was shown
  until REAL NOT NULL,         -- seconds since the epoch; 0: never again
  made REAL NOT NULL
) STRICT;

CREATE TABLE hidden_tools (
  server_id INTEGER NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
  tool TEXT NOT NULL,          -- the tool that hides them, '' for a list that grew
  name TEXT NOT NULL,          -- of a tool behind it
  tokens INTEGER NOT NULL,     -- of its definition, 0 where only the name is known
  source TEXT NOT NULL,        -- asked | seen | grew
  at REAL NOT NULL,
  PRIMARY KEY (server_id, tool, name)
) STRICT;
