-- names that servers had before they were renamed, where hosts' files still name them so
CREATE TABLE former_names (
    name TEXT PRIMARY KEY,
    server_id INTEGER NOT NULL REFERENCES servers (id) ON DELETE CASCADE
) STRICT;
