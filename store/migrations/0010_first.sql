CREATE TABLE hosts (
    id TEXT NOT NULL, file TEXT NOT NULL, scope TEXT NOT NULL,
    file_hash TEXT NOT NULL DEFAULT '', problem TEXT NOT NULL DEFAULT '', read_at REAL NOT NULL,
    PRIMARY KEY (id, file)
) STRICT;

CREATE TABLE servers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    spec_key TEXT NOT NULL UNIQUE,
    spec TEXT NOT NULL,
    trusted INTEGER NOT NULL DEFAULT 1,
    status TEXT NOT NULL DEFAULT 'configured',
    problem TEXT NOT NULL DEFAULT '',
    stderr TEXT NOT NULL DEFAULT '',
    taken_with TEXT NOT NULL DEFAULT '{}',
    server_info TEXT NOT NULL DEFAULT '{}',
    capabilities TEXT NOT NULL DEFAULT '{}',
    instructions TEXT NOT NULL DEFAULT '',
    prompts TEXT NOT NULL DEFAULT '[]',
    resources TEXT NOT NULL DEFAULT '[]',
    templates TEXT NOT NULL DEFAULT '[]',
    list_hash TEXT NOT NULL DEFAULT '',
    read_at REAL NOT NULL DEFAULT 0,
    disabled INTEGER NOT NULL DEFAULT 0  -- by the user in Toolcrib: neither started nor served
) STRICT;

CREATE TABLE entries (
    host TEXT NOT NULL, scope TEXT NOT NULL, file TEXT NOT NULL, name TEXT NOT NULL,
    server_id INTEGER NOT NULL REFERENCES servers(id) ON DELETE CASCADE,
    disabled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (host, scope, file, name)
) STRICT;

CREATE TABLE tools (
    id INTEGER PRIMARY KEY,
    server_id INTEGER NOT NULL REFERENCES servers(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    twin INTEGER NOT NULL DEFAULT 0,
    position INTEGER NOT NULL,
    raw TEXT NOT NULL,
    hash TEXT NOT NULL,
    trusted_hash TEXT NOT NULL,
    problem TEXT NOT NULL DEFAULT '',
    first_seen REAL NOT NULL,
    last_seen REAL NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0,
    trusted_raw TEXT NOT NULL DEFAULT '',  -- while it differs from the present text
    UNIQUE (server_id, name, twin)
) STRICT;

CREATE TABLE summaries (
    tool_id INTEGER PRIMARY KEY REFERENCES tools(id) ON DELETE CASCADE,
    text TEXT NOT NULL, source TEXT NOT NULL, hash TEXT NOT NULL
) STRICT;

CREATE TABLE token_counts (
    tool_id INTEGER NOT NULL REFERENCES tools(id) ON DELETE CASCADE,
    encoding TEXT NOT NULL,
    name INTEGER NOT NULL, description INTEGER NOT NULL, input_schema INTEGER NOT NULL,
    output_schema INTEGER NOT NULL, annotations INTEGER NOT NULL, host_text INTEGER NOT NULL,
    PRIMARY KEY (tool_id, encoding)
) STRICT;

CREATE TABLE vectors (
    tool_id INTEGER NOT NULL REFERENCES tools(id) ON DELETE CASCADE,
    model TEXT NOT NULL, view TEXT NOT NULL, hash TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (tool_id, model, view)
) STRICT;

CREATE VIRTUAL TABLE keywords USING fts5(
    name, description, parameters, server, requests,
    content='', contentless_delete=1, tokenize="porter unicode61 remove_diacritics 2"
);

CREATE TABLE profiles (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, settings TEXT NOT NULL DEFAULT '{}'
) STRICT;
INSERT INTO profiles (name) VALUES ('default');

CREATE TABLE profile_tools (
    profile_id INTEGER NOT NULL REFERENCES profiles(id) ON DELETE CASCADE,
    tool_id INTEGER NOT NULL REFERENCES tools(id) ON DELETE CASCADE,
    is_on INTEGER NOT NULL DEFAULT 1,
    pinned INTEGER NOT NULL DEFAULT 0,
    held TEXT NOT NULL DEFAULT '',  -- '', 'held' by the user, or 'new'
    PRIMARY KEY (profile_id, tool_id)
) STRICT;

CREATE TABLE findings (
    id INTEGER PRIMARY KEY,
    tool_id INTEGER NOT NULL REFERENCES tools(id) ON DELETE CASCADE,
    rule TEXT NOT NULL, severity TEXT NOT NULL, detail TEXT NOT NULL, hash TEXT NOT NULL,
    decided TEXT NOT NULL DEFAULT '',
    found_at REAL NOT NULL DEFAULT 0,  -- seconds since the epoch
    decided_at REAL NOT NULL DEFAULT 0,
    UNIQUE (tool_id, rule, hash)
) STRICT;

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL, kind TEXT NOT NULL, profile TEXT NOT NULL, host TEXT NOT NULL,
    session TEXT NOT NULL, tool TEXT NOT NULL, query TEXT NOT NULL,
    tokens INTEGER NOT NULL, ms REAL NOT NULL, problem TEXT NOT NULL, detail TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_tool ON events (tool, at);

CREATE TABLE exports (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL, host TEXT NOT NULL, scope TEXT NOT NULL, file TEXT NOT NULL,
    mode TEXT NOT NULL, profile TEXT NOT NULL,
    before_hash TEXT NOT NULL, after_hash TEXT NOT NULL, backup TEXT NOT NULL,
    undone_at REAL NOT NULL DEFAULT 0, detail TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE TABLE labels (
    id INTEGER PRIMARY KEY,
    query TEXT NOT NULL, expected TEXT NOT NULL, source TEXT NOT NULL, at REAL NOT NULL,
    UNIQUE (query, expected)
) STRICT;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL, fingerprint TEXT NOT NULL, settings TEXT NOT NULL, result TEXT NOT NULL
) STRICT;

CREATE TABLE blobs (
    name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, data BLOB NOT NULL, at REAL NOT NULL
) STRICT;

-- what users would say when they need a tool: beside its description, never instead of it
CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    tool_id INTEGER NOT NULL REFERENCES tools(id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    text_hash TEXT NOT NULL,
    dropped INTEGER NOT NULL DEFAULT 0,
    live INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tool_id, text_hash, text)
) STRICT;

CREATE TABLE request_vectors (
    request_id INTEGER NOT NULL REFERENCES requests(id) ON DELETE CASCADE,
    model TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (request_id, model)
) STRICT;

-- how a running server is shared between the sessions of one backend
CREATE TABLE server_sharing (
    server_id INTEGER PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    choice TEXT NOT NULL DEFAULT '',     -- shared, host or session; '' for Toolcrib's own
    requests TEXT NOT NULL DEFAULT '[]'  -- methods that it was seen to ask of hosts
) STRICT;

-- tools whose present text has a finding of severity block that was not approved
CREATE VIEW blocked AS
SELECT DISTINCT f.tool_id FROM findings f
JOIN tools t ON t.id = f.tool_id AND t.hash = f.hash
WHERE f.severity = 'block' AND f.decided != 'approved';

-- reasons why a tool may not reach a host in a profile, as app.catalog.availability says it
CREATE VIEW withheld AS
SELECT t.id AS tool_id, p.id AS profile_id,
  coalesce(x.is_on, 1) AS is_on, coalesce(x.pinned, 0) AS pinned,
  CASE
    WHEN s.trusted = 0 THEN 'untrusted'
    WHEN x.held = 'held' THEN 'held'
    WHEN t.hash != t.trusted_hash THEN 'changed'
    WHEN t.id IN (SELECT tool_id FROM blocked) THEN 'blocked'
    WHEN coalesce(x.held, '') != '' THEN 'new'
    ELSE ''
  END AS withheld,
  t.gone OR s.status = 'retired' AS gone,
  json_type(p.settings, '$.servers') = 'array'
    AND s.name NOT IN (SELECT value FROM json_each(p.settings, '$.servers')) AS outside,
  s.disabled AS disabled,
  t.problem AS problem
FROM tools t JOIN servers s ON s.id = t.server_id CROSS JOIN profiles p
LEFT JOIN profile_tools x ON x.tool_id = t.id AND x.profile_id = p.id;

CREATE VIEW availability AS
SELECT tool_id, profile_id, is_on, pinned,
  CASE
    WHEN gone THEN 'gone'
    WHEN outside THEN 'outside'
    WHEN disabled THEN 'disabled'
    WHEN is_on = 0 THEN 'off'
    WHEN withheld != '' THEN withheld
    WHEN problem != '' THEN 'unusable'
    ELSE ''
  END AS reason
FROM withheld;
