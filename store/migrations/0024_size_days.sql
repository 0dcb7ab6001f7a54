-- the largest that a host's model got of a profile, by day: a budget is judged over several
CREATE TABLE size_days (
  day INTEGER NOT NULL,        -- days since the epoch
  profile TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  tools INTEGER NOT NULL,
  over INTEGER NOT NULL,       -- 1: over the budget of that day
  PRIMARY KEY (day, profile)
) STRICT;
