-- what was trusted of a project's policy file, and the text that its user put off
ALTER TABLE policies ADD COLUMN trusted_text TEXT NOT NULL DEFAULT '';
ALTER TABLE policies ADD COLUMN put_off TEXT NOT NULL DEFAULT '';  -- hash

-- the policy file that a profile takes its values from
CREATE TABLE profile_policies (
  profile_id INTEGER PRIMARY KEY REFERENCES profiles (id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  hash TEXT NOT NULL DEFAULT '',   -- of the text whose values are stored
  problem TEXT NOT NULL DEFAULT '' -- why a later text is not used
);
