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

-- the keyword index gets a field for them; until the next reading its texts are those below
DROP TABLE keywords;
CREATE VIRTUAL TABLE keywords USING fts5(
    name, description, parameters, server, requests,
    content='', contentless_delete=1, tokenize="porter unicode61 remove_diacritics 2"
);
INSERT INTO keywords (rowid, name, description, parameters, server, requests)
SELECT t.id, t.name, COALESCE(t.raw ->> '$.description', ''), '', s.name, ''
FROM tools t JOIN servers s ON s.id = t.server_id WHERE t.problem = '';
UPDATE summaries SET hash = '';
