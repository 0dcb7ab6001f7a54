-- matching() for a caller who sees few tools: all of them are read, by scope. The index of words would be read for
-- the tools of all organisations: a common word took 1.8 s there for a caller of 500 tools among a million.
DO $$
DECLARE
    made text := pg_get_functiondef('toolcrib.matching'::regproc);
BEGIN
    made := replace(made, 'FUNCTION toolcrib.matching(', 'FUNCTION toolcrib.matching_few(');
    made := replace(made, 'AND t.words @@ (SELECT', 'AND ts_delete(t.words, '''') @@ (SELECT');  -- which no index knows
    EXECUTE made;
END $$;
REVOKE EXECUTE ON FUNCTION matching_few(text[], float8[], text[], float8, float8, bigint[], integer) FROM public;
GRANT EXECUTE ON FUNCTION matching_few(text[], float8[], text[], float8, float8, bigint[], integer) TO toolcrib_member;
