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
    read_at REAL NOT NULL DEFAULT 0
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
    name, description, parameters, server,
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
    held TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (profile_id, tool_id)
) STRICT;

CREATE TABLE findings (
    id INTEGER PRIMARY KEY,
    tool_id INTEGER NOT NULL REFERENCES tools(id) ON DELETE CASCADE,
    rule TEXT NOT NULL, severity TEXT NOT NULL, detail TEXT NOT NULL, hash TEXT NOT NULL,
    decided TEXT NOT NULL DEFAULT '',
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
