-- tools whose present text has a finding of severity block that nobody has decided on
CREATE VIEW blocked AS
SELECT DISTINCT f.tool_id FROM findings f
JOIN tools t ON t.id = f.tool_id AND t.hash = f.hash
WHERE f.severity = 'block' AND f.decided = '';
