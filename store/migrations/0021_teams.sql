-- the team that this machine's catalogue is joined to, and what it was sent last
CREATE TABLE teams (
  id INTEGER PRIMARY KEY,
  url TEXT NOT NULL UNIQUE,
  organisation TEXT NOT NULL,
  member TEXT NOT NULL,
  role TEXT NOT NULL,
  cursor INTEGER NOT NULL DEFAULT 0,
  complete INTEGER NOT NULL DEFAULT 0,   -- whether everything up to the cursor is in the catalogue
  synced_at REAL NOT NULL DEFAULT 0,     -- seconds since the epoch, 0 for never
  problem TEXT NOT NULL DEFAULT '',      -- why the last synchronisation failed
  joined_at REAL NOT NULL,
  sends TEXT NOT NULL DEFAULT '[]',      -- JSON: what is sent to the team (labels, use)
  sent_event INTEGER NOT NULL DEFAULT 0, -- the last event whose count was sent
  sent_label INTEGER NOT NULL DEFAULT 0  -- the last label that was sent
) STRICT;

-- rows as the team server sent them
CREATE TABLE team_rows (
  team_id INTEGER NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,                    -- server | tool | profile | policy | review
  remote_id INTEGER NOT NULL,
  parent TEXT NOT NULL DEFAULT '',       -- of a tool: its server's name in the team
  body TEXT NOT NULL,                    -- JSON
  local_id INTEGER NOT NULL DEFAULT 0,   -- of the server or profile made from it
  stale INTEGER NOT NULL DEFAULT 1,      -- whether the catalogue does not have it yet
  PRIMARY KEY (team_id, kind, remote_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX team_rows_by_parent ON team_rows (team_id, kind, parent);
CREATE INDEX team_rows_stale ON team_rows (team_id, kind) WHERE stale;

-- profiles of a team, which only synchronisation changes
CREATE TABLE team_profiles (
  profile_id INTEGER PRIMARY KEY REFERENCES profiles (id) ON DELETE CASCADE,
  team_id INTEGER NOT NULL,
  name TEXT NOT NULL,                    -- in the team
  version INTEGER NOT NULL,
  unlocked INTEGER NOT NULL DEFAULT 0    -- inside a synchronisation
) STRICT;
CREATE TRIGGER team_profile_settings BEFORE UPDATE ON profiles
WHEN EXISTS (SELECT 1 FROM team_profiles WHERE profile_id = OLD.id AND NOT unlocked)
BEGIN SELECT RAISE(ABORT, 'team profile'); END;
CREATE TRIGGER team_profile_deleted BEFORE DELETE ON profiles
WHEN EXISTS (SELECT 1 FROM team_profiles WHERE profile_id = OLD.id AND NOT unlocked)
BEGIN SELECT RAISE(ABORT, 'team profile'); END;
-- a tool that is new on this machine may be held in them all the same
CREATE TRIGGER team_profile_tick BEFORE INSERT ON profile_tools
WHEN (NOT NEW.is_on OR NEW.pinned) AND EXISTS (SELECT 1 FROM team_profiles WHERE profile_id = NEW.profile_id AND NOT unlocked)
BEGIN SELECT RAISE(ABORT, 'team profile'); END;
CREATE TRIGGER team_profile_tick_changed BEFORE UPDATE ON profile_tools
WHEN (NEW.is_on != OLD.is_on OR NEW.pinned != OLD.pinned) AND EXISTS (SELECT 1 FROM team_profiles WHERE profile_id = NEW.profile_id AND NOT unlocked)
BEGIN SELECT RAISE(ABORT, 'team profile'); END;
