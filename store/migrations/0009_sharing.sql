-- how a running server is shared between the sessions of one backend
CREATE TABLE server_sharing (
    server_id INTEGER PRIMARY KEY REFERENCES servers (id) ON DELETE CASCADE,
    choice TEXT NOT NULL DEFAULT '',     -- shared, host or session; '' for Toolcrib's own
    requests TEXT NOT NULL DEFAULT '[]'  -- methods that it was seen to ask of hosts
) STRICT;
