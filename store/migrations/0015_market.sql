-- servers that could be installed: registries of them, what they list, and an index of its own
CREATE TABLE market_sources (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    header TEXT NOT NULL DEFAULT '',          -- a name; its value is in the secret store
    private INTEGER NOT NULL DEFAULT 0,       -- the user's own: addresses of this network are right
    cursor TEXT NOT NULL DEFAULT '',          -- of a sync that is not over
    since TEXT NOT NULL DEFAULT '',           -- what the sync that is not over asked for
    newest TEXT NOT NULL DEFAULT '',          -- updatedAt of the newest entry, RFC 3339
    round INTEGER NOT NULL DEFAULT 0,         -- of full syncs: entries of older ones are gone
    synced_at REAL NOT NULL DEFAULT 0,
    problem TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE market_servers (
    id INTEGER PRIMARY KEY,
    source_id INTEGER NOT NULL REFERENCES market_sources(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    skeleton TEXT NOT NULL,                   -- names of one skeleton look alike
    package TEXT NOT NULL,                    -- kind:identifier of the first package, '' for none
    status TEXT NOT NULL,
    published_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    round INTEGER NOT NULL,
    title TEXT NOT NULL,                      -- these two are searched
    text TEXT NOT NULL,
    entry BLOB NOT NULL,                      -- server.json and what the registry says of it, deflated
    UNIQUE (source_id, name)
) STRICT;
CREATE INDEX market_servers_skeleton ON market_servers (skeleton);
CREATE INDEX market_servers_package ON market_servers (package);

CREATE TABLE market_tools (
    id INTEGER PRIMARY KEY,
    package TEXT NOT NULL,                    -- as market_servers.package
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL DEFAULT 0,        -- 0: not known
    UNIQUE (package, name)
) STRICT;

-- one row a server (id) and a tool (-id): int8 vectors
CREATE TABLE market_vectors (
    id INTEGER NOT NULL, model TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (id, model)
) STRICT;

CREATE VIRTUAL TABLE market_words USING fts5(
    name, text, content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 2"
);

-- the listed server that an installed one came from
CREATE TABLE market_installs (
    server_id INTEGER PRIMARY KEY REFERENCES servers(id) ON DELETE CASCADE,
    source TEXT NOT NULL,                     -- URL
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    number INTEGER NOT NULL,                  -- of the package or address, from 1
    at REAL NOT NULL
) STRICT;
