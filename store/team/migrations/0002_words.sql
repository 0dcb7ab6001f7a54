-- Sums of vocabulary and stems by scope: a search asks for words of all servers that its caller sees, and in an
-- organisation of 12,500 servers a common word has as many rows in each of them.
CREATE TABLE scope_vocabulary (
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    scope_id bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    count bigint NOT NULL,  -- texts that hold it
    PRIMARY KEY (organisation_id, scope_id, word)
);
CREATE TABLE scope_stems (
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    scope_id bigint NOT NULL,
    stem text NOT NULL,
    tools bigint NOT NULL,  -- that hold it
    PRIMARY KEY (organisation_id, scope_id, stem)
);
INSERT INTO scope_vocabulary
    SELECT organisation_id, scope_id, word, sum(count) FROM vocabulary GROUP BY 1, 2, 3;
INSERT INTO scope_stems
    SELECT organisation_id, scope_id, stem, sum(tools) FROM stems GROUP BY 1, 2, 3;

-- Arguments: the table of sums, the column of the word, the column of its number.
CREATE FUNCTION sum_words() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = toolcrib, public AS $$
DECLARE
    rows_ text := '(SELECT organisation_id, scope_id, %2$I AS word, sum(%3$I) AS n FROM %4$I'
        ' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3)';
    less text := 'UPDATE %1$I s SET %3$I = s.%3$I - c.n FROM ' || rows_ || ' c'
        ' WHERE s.organisation_id = c.organisation_id AND s.scope_id = c.scope_id AND s.%2$I = c.word';
    more text := 'INSERT INTO %1$I AS s (organisation_id, scope_id, %2$I, %3$I) SELECT * FROM ' || rows_ || ' c'
        ' ON CONFLICT (organisation_id, scope_id, %2$I) DO UPDATE SET %3$I = s.%3$I + excluded.%3$I';
    none text := 'DELETE FROM %1$I s USING %4$I c WHERE s.organisation_id = c.organisation_id'
        ' AND s.scope_id = c.scope_id AND s.%2$I = c.%2$I AND s.%3$I = 0';
BEGIN
    -- writers of an organisation take turns, so that none waits for words that wait for it
    EXECUTE format('SELECT pg_advisory_xact_lock(7305131, organisation_id::int) FROM'
        ' (SELECT DISTINCT organisation_id FROM %I ORDER BY 1) o',
        CASE TG_OP WHEN 'DELETE' THEN 'old_rows' ELSE 'new_rows' END);
    IF TG_OP <> 'INSERT' THEN
        EXECUTE format(less, TG_ARGV[0], TG_ARGV[1], TG_ARGV[2], 'old_rows');
    END IF;
    IF TG_OP <> 'DELETE' THEN
        EXECUTE format(more, TG_ARGV[0], TG_ARGV[1], TG_ARGV[2], 'new_rows');
    END IF;
    IF TG_OP <> 'INSERT' THEN
        EXECUTE format(none, TG_ARGV[0], TG_ARGV[1], TG_ARGV[2], 'old_rows');
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION sum_words() FROM public;

DO $$
DECLARE
    from_ text[];
BEGIN
    FOREACH from_ SLICE 1 IN ARRAY ARRAY[['vocabulary', 'word', 'count'], ['stems', 'stem', 'tools']] LOOP
        EXECUTE format('CREATE TRIGGER sum_added AFTER INSERT ON %I REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION sum_words(%L, %L, %L)',
            from_[1], 'scope_' || from_[1], from_[2], from_[3]);
        EXECUTE format('CREATE TRIGGER sum_changed AFTER UPDATE ON %I REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION sum_words(%L, %L, %L)',
            from_[1], 'scope_' || from_[1], from_[2], from_[3]);
        EXECUTE format('CREATE TRIGGER sum_removed AFTER DELETE ON %I REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION sum_words(%L, %L, %L)',
            from_[1], 'scope_' || from_[1], from_[2], from_[3]);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', 'scope_' || from_[1]);
        EXECUTE format('CREATE POLICY seen ON %I FOR SELECT USING (organisation_id = (SELECT toolcrib.organisation()) AND scope_id = ANY ((SELECT toolcrib.scopes())::bigint[]))', 'scope_' || from_[1]);
        EXECUTE format('GRANT SELECT ON %I TO toolcrib_member', 'scope_' || from_[1]);
    END LOOP;
END $$;
