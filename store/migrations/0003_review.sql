-- the text that was trusted, kept while the present one differs from it; '' otherwise
ALTER TABLE tools ADD COLUMN trusted_raw TEXT NOT NULL DEFAULT '';

-- seconds since the epoch; 0 in rows of earlier versions
ALTER TABLE findings ADD COLUMN found_at REAL NOT NULL DEFAULT 0;
ALTER TABLE findings ADD COLUMN decided_at REAL NOT NULL DEFAULT 0;

-- a finding that somebody looked at and did not approve still holds its tool back
DROP VIEW blocked;
CREATE VIEW blocked AS
SELECT DISTINCT f.tool_id FROM findings f
JOIN tools t ON t.id = f.tool_id AND t.hash = f.hash
WHERE f.severity = 'block' AND f.decided != 'approved';
