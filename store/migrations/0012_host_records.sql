-- calls of tools as the hosts' own records tell them: names, counts and times, never a text

CREATE TABLE host_records (
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  file TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,       -- bytes when it was read
  changed REAL NOT NULL,       -- its modification time when it was read
  position INTEGER NOT NULL,   -- bytes read; what follows is read next
  last_request TEXT NOT NULL DEFAULT '',
  problem TEXT NOT NULL DEFAULT ''
);

CREATE TABLE host_tools (
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  server TEXT NOT NULL,        -- as the host spells them
  tool TEXT NOT NULL,
  UNIQUE (host, server, tool)
);

CREATE TABLE host_calls (
  record_id INTEGER NOT NULL REFERENCES host_records(id) ON DELETE CASCADE,
  call BLOB NOT NULL,          -- a digest of the call's id, so that none counts twice
  tool_id INTEGER NOT NULL REFERENCES host_tools(id) ON DELETE CASCADE,
  at REAL NOT NULL,
  PRIMARY KEY (record_id, call)
) WITHOUT ROWID;

CREATE INDEX host_calls_at ON host_calls(at);

CREATE TABLE host_requests (
  record_id INTEGER NOT NULL REFERENCES host_records(id) ON DELETE CASCADE,
  day INTEGER NOT NULL,        -- days since the epoch
  requests INTEGER NOT NULL,
  PRIMARY KEY (record_id, day)
) WITHOUT ROWID;
