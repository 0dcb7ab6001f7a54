-- calls that wait for a person's yes, and tools that always have one

CREATE TABLE approvals (
  id INTEGER PRIMARY KEY,
  made REAL NOT NULL,
  expires REAL NOT NULL,
  profile TEXT NOT NULL,
  session TEXT NOT NULL,       -- of the gateway that waits
  host TEXT NOT NULL,
  tool TEXT NOT NULL,          -- server/tool
  hash TEXT NOT NULL,          -- of the tool's definition
  arguments TEXT NOT NULL,     -- JSON, secrets masked; cleared with the decision
  state TEXT NOT NULL          -- waiting | allowed | session | always | denied | expired | gone | sent
);

CREATE TABLE always_allowed (
  profile TEXT NOT NULL,
  tool TEXT NOT NULL,
  hash TEXT NOT NULL,          -- another text of the tool is asked about again
  made REAL NOT NULL,
  PRIMARY KEY (profile, tool, hash)
) WITHOUT ROWID;
