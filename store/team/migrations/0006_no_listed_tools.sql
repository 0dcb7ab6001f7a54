-- Servers that could be installed have lists of their own: no tool of one was ever kept here.
DROP INDEX tools_apart;
ALTER TABLE tools DROP COLUMN installed;
CREATE INDEX tools_apart ON tools (organisation_id) WHERE held OR problem <> ''
    OR (trusted_hash <> '' AND trusted_hash <> hash);
