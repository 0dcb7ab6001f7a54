-- Words by scope: the index of words knows what the caller sees, so that a search reads no row of others. A common
-- word took 646 ms for a caller of 25,000 tools among an organisation's 500,000.
-- An array's operator is GIN's alone: of `scope_id =` the planner would take the index of scopes, and read all their
-- tools, wherever scopes are small in the mean.
CREATE INDEX tools_by_scope_and_words ON tools USING gin ((ARRAY[scope_id]), words);
DROP INDEX tools_by_words;
-- matching_few() stays, for replicas of the version before
DO $$
DECLARE
    made text := pg_get_functiondef('toolcrib.matching'::regproc);
BEGIN
    made := replace(made, 't.organisation_id = (', 't.organisation_id + 0 = (');  -- which no index knows
    made := replace(made, 't.scope_id = ANY ((SELECT toolcrib.scopes())::bigint[])',
        'ARRAY[t.scope_id] && (SELECT toolcrib.scopes())::bigint[]');
    EXECUTE made;
END $$;
