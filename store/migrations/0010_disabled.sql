-- a server that the user disabled in Toolcrib is neither started nor served
ALTER TABLE servers ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;

DROP VIEW availability;
DROP VIEW withheld;

-- whether a tool may reach a host in a profile, as app.catalog.availability says it
CREATE VIEW withheld AS
SELECT t.id AS tool_id, p.id AS profile_id,
  coalesce(x.is_on, 1) AS is_on, coalesce(x.pinned, 0) AS pinned,
  CASE
    WHEN s.trusted = 0 THEN 'untrusted'
    WHEN x.held = 'held' THEN 'held'
    WHEN t.hash != t.trusted_hash THEN 'changed'
    WHEN t.id IN (SELECT tool_id FROM blocked) THEN 'blocked'
    WHEN coalesce(x.held, '') != '' THEN 'new'
    ELSE ''
  END AS withheld,
  t.gone OR s.status = 'retired' AS gone,
  json_type(p.settings, '$.servers') = 'array'
    AND s.name NOT IN (SELECT value FROM json_each(p.settings, '$.servers')) AS outside,
  s.disabled AS disabled,
  t.problem AS problem
FROM tools t JOIN servers s ON s.id = t.server_id CROSS JOIN profiles p
LEFT JOIN profile_tools x ON x.tool_id = t.id AND x.profile_id = p.id;

CREATE VIEW availability AS
SELECT tool_id, profile_id, is_on, pinned,
  CASE
    WHEN gone THEN 'gone'
    WHEN outside THEN 'outside'
    WHEN disabled THEN 'disabled'
    WHEN is_on = 0 THEN 'off'
    WHEN withheld != '' THEN withheld
    WHEN problem != '' THEN 'unusable'
    ELSE ''
  END AS reason
FROM withheld;
