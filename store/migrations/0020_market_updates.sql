-- A listed server's own entry and the plain values that it was given, and the version before it.

ALTER TABLE market_installs ADD COLUMN query TEXT NOT NULL DEFAULT '';   -- the search that found it
ALTER TABLE market_installs ADD COLUMN entry TEXT NOT NULL DEFAULT '{}'; -- server.json at that time
ALTER TABLE market_installs ADD COLUMN given TEXT NOT NULL DEFAULT '{}'; -- values; null for secrets

CREATE TABLE market_former (
    server_id INTEGER PRIMARY KEY REFERENCES servers(id) ON DELETE CASCADE,
    install TEXT NOT NULL,  -- JSON of the row of market_installs
    launch TEXT NOT NULL,   -- JSON of the spec; its secrets are in the secret store
    trusted TEXT NOT NULL   -- JSON: tool -> [hash, raw] of the texts that were approved
) STRICT;
