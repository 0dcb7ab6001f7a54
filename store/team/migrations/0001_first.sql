CREATE TABLE organisations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    created timestamptz NOT NULL DEFAULT now(),
    removed timestamptz,
    indexed boolean NOT NULL DEFAULT false  -- has a partial HNSW index of its own
);

CREATE TABLE members (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    name text NOT NULL,
    role text NOT NULL DEFAULT 'member' CHECK (role IN ('member', 'editor', 'admin')),
    groups text[] NOT NULL DEFAULT '{}',
    issuer text NOT NULL DEFAULT '',
    subject text NOT NULL DEFAULT '',
    created timestamptz NOT NULL DEFAULT now(),
    removed timestamptz,
    UNIQUE (organisation_id, id)
);
CREATE UNIQUE INDEX members_name ON members (organisation_id, name) WHERE removed IS NULL;
CREATE UNIQUE INDEX members_subject ON members (organisation_id, issuer, subject)
    WHERE removed IS NULL AND subject <> '';

CREATE TABLE tokens (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    member_id bigint NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    allow text[],  -- server/tool patterns of an agent; NULL allows all that its member sees
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz,
    used timestamptz,
    revoked timestamptz,
    FOREIGN KEY (organisation_id, member_id) REFERENCES members (organisation_id, id) ON DELETE CASCADE
);
CREATE INDEX tokens_of_member ON tokens (member_id);

-- a set of grants: organisation, role:NAME, group:NAME, member:ID
CREATE TABLE scopes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    grants text[] NOT NULL,
    -- rows of these tables, and the words of the tools; kept by triggers
    tools bigint NOT NULL DEFAULT 0,
    lengths bigint NOT NULL DEFAULT 0,
    tool_vectors bigint NOT NULL DEFAULT 0,
    request_vectors bigint NOT NULL DEFAULT 0,
    UNIQUE (organisation_id, grants),
    UNIQUE (organisation_id, id)
);

CREATE TABLE servers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    scope_id bigint NOT NULL,
    name text NOT NULL CHECK (name <> '' AND name !~ '/'),
    transport text NOT NULL CHECK (transport IN ('stdio', 'http', 'sse')),
    spec json NOT NULL DEFAULT '{}',  -- command, args, env_names, header_names; never a secret
    url text NOT NULL DEFAULT '',
    sign_in text NOT NULL DEFAULT 'none' CHECK (sign_in IN ('none', 'member', 'organisation')),
    server_info json NOT NULL DEFAULT '{}',
    instructions text NOT NULL DEFAULT '',
    enabled boolean NOT NULL DEFAULT true,
    mean halfvec,  -- of its tools' vectors, of unit length
    alike real NOT NULL DEFAULT 0,  -- length of the mean before it was scaled
    described halfvec,  -- of what it says of itself
    enhanced halfvec,  -- of its tools' names
    updated timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, name),
    UNIQUE (organisation_id, id),
    FOREIGN KEY (organisation_id, scope_id) REFERENCES scopes (organisation_id, id)
);

CREATE TABLE tools (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    server_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    tool_id text NOT NULL,  -- server/tool
    name text NOT NULL,
    raw json NOT NULL,
    hash text NOT NULL,
    trusted_hash text NOT NULL DEFAULT '',  -- '': no review was needed
    held boolean NOT NULL DEFAULT false,
    problem text NOT NULL DEFAULT '',
    installed boolean NOT NULL DEFAULT true,  -- false: an entry of a marketplace
    position integer NOT NULL DEFAULT 0,
    summary text NOT NULL DEFAULT '',
    tokens integer NOT NULL DEFAULT 0,
    words tsvector NOT NULL DEFAULT '',
    length integer NOT NULL DEFAULT 0,  -- tokens that the keyword index counts
    updated timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, tool_id),
    UNIQUE (organisation_id, id),
    FOREIGN KEY (organisation_id, server_id) REFERENCES servers (organisation_id, id) ON DELETE CASCADE
);
CREATE INDEX tools_of_server ON tools (server_id);
CREATE INDEX tools_by_scope ON tools (organisation_id, scope_id);
CREATE INDEX tools_apart ON tools (organisation_id) WHERE held OR problem <> '' OR NOT installed
    OR (trusted_hash <> '' AND trusted_hash <> hash);
CREATE INDEX tools_by_words ON tools USING gin (organisation_id, words);

CREATE TABLE tool_vectors (
    tool_id bigint NOT NULL,
    organisation_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    model text NOT NULL,
    hash text NOT NULL,  -- of the text that was encoded
    v halfvec(384) NOT NULL,
    PRIMARY KEY (tool_id, model),
    FOREIGN KEY (organisation_id, tool_id) REFERENCES tools (organisation_id, id) ON DELETE CASCADE
);
CREATE INDEX tool_vectors_by_scope ON tool_vectors (organisation_id, scope_id);

CREATE TABLE requests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    tool_id bigint NOT NULL,
    text text NOT NULL,
    source text NOT NULL,
    text_hash text NOT NULL,
    UNIQUE (tool_id, text),
    UNIQUE (organisation_id, id),
    FOREIGN KEY (organisation_id, tool_id) REFERENCES tools (organisation_id, id) ON DELETE CASCADE
);

CREATE TABLE request_vectors (
    request_id bigint NOT NULL,
    organisation_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    tool_id bigint NOT NULL,
    model text NOT NULL,
    v halfvec(384) NOT NULL,
    PRIMARY KEY (request_id, model),
    FOREIGN KEY (organisation_id, request_id) REFERENCES requests (organisation_id, id) ON DELETE CASCADE
);
CREATE INDEX request_vectors_by_scope ON request_vectors (organisation_id, scope_id);
CREATE INDEX request_vectors_by_tool ON request_vectors (tool_id);

-- words of servers, tools, summaries and requests, for queries with slips
CREATE TABLE vocabulary (
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    scope_id bigint NOT NULL,
    server_id bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    count integer NOT NULL,  -- texts of this server that hold it
    PRIMARY KEY (organisation_id, word, server_id),
    FOREIGN KEY (organisation_id, server_id) REFERENCES servers (organisation_id, id) ON DELETE CASCADE
);

-- tools of each server that hold a word of the keyword index
CREATE TABLE stems (
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    scope_id bigint NOT NULL,
    server_id bigint NOT NULL,
    stem text NOT NULL,
    tools integer NOT NULL,
    PRIMARY KEY (organisation_id, stem, server_id),
    FOREIGN KEY (organisation_id, server_id) REFERENCES servers (organisation_id, id) ON DELETE CASCADE
);
CREATE INDEX stems_of_server ON stems (server_id);

CREATE TABLE findings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    tool_id bigint NOT NULL,
    rule text NOT NULL,
    severity text NOT NULL CHECK (severity IN ('block', 'warn', 'info')),
    detail text NOT NULL,
    hash text NOT NULL,  -- of the tool text that it was seen in
    at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tool_id, rule, hash),
    FOREIGN KEY (organisation_id, tool_id) REFERENCES tools (organisation_id, id) ON DELETE CASCADE
);

-- a decision belongs to a text: the same tool with another text has none
CREATE TABLE decisions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL,
    scope_id bigint NOT NULL,
    tool_id bigint NOT NULL,
    hash text NOT NULL,
    decision text NOT NULL CHECK (decision IN ('approved', 'kept')),
    reason text NOT NULL DEFAULT '',
    member_id bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tool_id, hash),
    FOREIGN KEY (organisation_id, tool_id) REFERENCES tools (organisation_id, id) ON DELETE CASCADE
);

CREATE TABLE profiles (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    scope_id bigint NOT NULL,
    name text NOT NULL,
    settings json NOT NULL DEFAULT '{}',
    version bigint NOT NULL DEFAULT 1,
    updated timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, name),
    UNIQUE (organisation_id, id),
    FOREIGN KEY (organisation_id, scope_id) REFERENCES scopes (organisation_id, id)
);

CREATE TABLE profile_tools (
    profile_id bigint NOT NULL,
    organisation_id bigint NOT NULL,
    tool_id text NOT NULL,  -- server/tool, so that a tool that comes back finds its tick
    is_on boolean NOT NULL DEFAULT true,
    pinned boolean NOT NULL DEFAULT false,
    PRIMARY KEY (profile_id, tool_id),
    FOREIGN KEY (organisation_id, profile_id) REFERENCES profiles (organisation_id, id) ON DELETE CASCADE
);

CREATE TABLE policies (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    name text NOT NULL,
    text text NOT NULL,
    hash text NOT NULL,
    updated timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, name)
);

CREATE TABLE labels (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL,
    member_id bigint NOT NULL,
    query text NOT NULL,
    words text NOT NULL,  -- the key of like queries
    expected text[] NOT NULL,
    source text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, query, expected),
    FOREIGN KEY (organisation_id, member_id) REFERENCES members (organisation_id, id) ON DELETE CASCADE
);
CREATE INDEX labels_by_words ON labels (organisation_id, words);

CREATE TABLE use (
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    day date NOT NULL,
    member_id bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('search', 'call', 'error', 'miss')),
    tool_id text NOT NULL DEFAULT '',
    count bigint NOT NULL,
    PRIMARY KEY (organisation_id, day, member_id, kind, tool_id)
);

CREATE TABLE upstream_secrets (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL,
    server_id bigint NOT NULL,
    member_id bigint NOT NULL DEFAULT 0,  -- 0: the organisation's own
    sealed bytea NOT NULL,  -- encrypted by the gateway
    key_name text NOT NULL,
    expires timestamptz,
    updated timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organisation_id, server_id, member_id),
    FOREIGN KEY (organisation_id, server_id) REFERENCES servers (organisation_id, id) ON DELETE CASCADE
);

CREATE TABLE sessions (
    id text PRIMARY KEY,
    organisation_id bigint NOT NULL,
    member_id bigint NOT NULL,
    data jsonb NOT NULL DEFAULT '{}',
    expires timestamptz NOT NULL,
    FOREIGN KEY (organisation_id, member_id) REFERENCES members (organisation_id, id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_end ON sessions (expires);

CREATE TABLE blobs (
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    name text NOT NULL,
    fingerprint text NOT NULL,
    data bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organisation_id, name)
);

CREATE TABLE audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organisation_id bigint NOT NULL,  -- no reference: it outlives what it tells of
    at timestamptz NOT NULL DEFAULT now(),
    member_id bigint NOT NULL,  -- 0: the operator
    action text NOT NULL,  -- insert, update, delete
    kind text NOT NULL,  -- the table
    subject text NOT NULL,
    before jsonb,
    after jsonb
);
CREATE INDEX audit_of_organisation ON audit (organisation_id, id);

CREATE TABLE cursors (
    organisation_id bigint PRIMARY KEY REFERENCES organisations ON DELETE CASCADE,
    last bigint NOT NULL DEFAULT 0
);

CREATE TABLE changes (
    organisation_id bigint NOT NULL REFERENCES organisations ON DELETE CASCADE,
    kind text NOT NULL,
    row_id bigint NOT NULL,
    cursor bigint NOT NULL,
    gone boolean NOT NULL DEFAULT false,
    PRIMARY KEY (organisation_id, kind, row_id)
);
CREATE INDEX changes_in_order ON changes (organisation_id, cursor);

-- the transaction's caller
CREATE FUNCTION organisation() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('toolcrib.organisation', true), '')::bigint;
CREATE FUNCTION member() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(nullif(current_setting('toolcrib.member', true), '')::bigint, 0);
CREATE FUNCTION role() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(current_setting('toolcrib.role', true), '');
CREATE FUNCTION scopes() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(nullif(current_setting('toolcrib.scopes', true), ''), '{}')::bigint[];
-- LIKE patterns; NULL allows all
CREATE FUNCTION allowed() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('toolcrib.allow', true), '')::text[];
CREATE FUNCTION may_edit() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    RETURN toolcrib.role() IN ('editor', 'admin');

-- Sets the caller of this transaction; false, and nothing set, where the member is not there.
CREATE FUNCTION enter(organisation_ bigint, member_ bigint, allow_ text[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = toolcrib, public AS $$
DECLARE
    found_ record;
    visible bigint[];
BEGIN
    SELECT m.role, m.groups INTO found_ FROM members m JOIN organisations o ON o.id = m.organisation_id
        WHERE m.id = member_ AND m.organisation_id = organisation_
        AND m.removed IS NULL AND o.removed IS NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT coalesce(array_agg(s.id), '{}') INTO visible FROM scopes s
        WHERE s.organisation_id = organisation_ AND (found_.role IN ('editor', 'admin') OR s.grants && (
            ARRAY['organisation', 'role:' || found_.role, 'member:' || member_]
            || ARRAY(SELECT 'group:' || g FROM unnest(found_.groups) g)));
    PERFORM set_config('toolcrib.organisation', organisation_::text, true),
        set_config('toolcrib.member', member_::text, true),
        set_config('toolcrib.role', found_.role, true),
        set_config('toolcrib.scopes', visible::text, true),
        set_config('toolcrib.allow', coalesce(allow_::text, ''), true);
    RETURN true;
END $$;

-- The member behind a token's hash, as long as it counts.
CREATE FUNCTION holder(hash_ bytea) RETURNS TABLE (
    token_id bigint, organisation_id bigint, member_id bigint, role text, name text, groups text[], allow text[]
) LANGUAGE sql SECURITY DEFINER SET search_path = toolcrib, public AS $$
    SELECT t.id, m.organisation_id, m.id, m.role, m.name, m.groups, t.allow
    FROM tokens t JOIN members m ON m.id = t.member_id JOIN organisations o ON o.id = m.organisation_id
    WHERE t.hash = hash_ AND t.revoked IS NULL AND (t.expires IS NULL OR t.expires > now())
    AND m.removed IS NULL AND o.removed IS NULL
$$;

-- The members that an issuer calls by this subject, one an organisation.
CREATE FUNCTION holders(issuer_ text, subject_ text) RETURNS TABLE (
    organisation_id bigint, organisation text, member_id bigint, role text, name text, groups text[]
) LANGUAGE sql SECURITY DEFINER SET search_path = toolcrib, public AS $$
    SELECT m.organisation_id, o.name, m.id, m.role, m.name, m.groups
    FROM members m JOIN organisations o ON o.id = m.organisation_id
    WHERE m.issuer = issuer_ AND m.subject = subject_ AND subject_ <> ''
    AND m.removed IS NULL AND o.removed IS NULL ORDER BY o.name
$$;

-- Tools that hold words (any of the finders), best first. Row-level security would keep the index of words from being
-- used (its operator is not leakproof), so this runs as the owner, bound to the transaction's
-- caller, and gives ids alone: whoever joins them with tools is checked there again.
CREATE FUNCTION matching(terms text[], weights float8[], finders text[], named float8, mean_length float8, apart bigint[], most integer)
RETURNS TABLE (id bigint, score float8)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = toolcrib, public AS $$
    WITH terms AS MATERIALIZED (
        SELECT u.weight, (quote_literal(u.term) || ':A')::tsquery AS in_name,
            (quote_literal(u.term) || ':BCD')::tsquery AS elsewhere
        FROM unnest(terms, weights) u(term, weight)
    ), matched AS MATERIALIZED (
        SELECT t.id, t.words, 1.2 * (0.25 + 0.75 * t.length / mean_length) AS long FROM tools t
        WHERE t.organisation_id = (SELECT toolcrib.organisation())
        AND t.scope_id = ANY ((SELECT toolcrib.scopes())::bigint[])
        AND ((SELECT toolcrib.allowed()) IS NULL OR t.tool_id LIKE ANY ((SELECT toolcrib.allowed())::text[]))
        AND t.id <> ALL (apart)
        AND t.words @@ (SELECT string_agg(quote_literal(u), '|')::tsquery FROM unnest(finders) u)
    )
    SELECT m.id, sum(w.weight * f.f * 2.2 / (f.f + m.long)) AS score
    FROM matched m, terms w, LATERAL (
        SELECT (m.words @@ w.elsewhere)::int + (m.words @@ w.in_name)::int * named AS f OFFSET 0
    ) f
    WHERE f.f > 0 GROUP BY m.id ORDER BY score DESC, m.id LIMIT most
$$;

-- One number a changed row; the cursor's lock is held until the transaction ends, so numbers are
-- seen in their order and none appears behind a reader.
CREATE FUNCTION note_changes(organisation_ bigint, kind_ text, ids bigint[], gone_ boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = toolcrib, public AS $$
DECLARE
    start_ bigint;
BEGIN
    INSERT INTO cursors AS c (organisation_id, last) VALUES (organisation_, cardinality(ids))
        ON CONFLICT (organisation_id) DO UPDATE SET last = c.last + cardinality(ids)
        RETURNING c.last - cardinality(ids) INTO start_;
    INSERT INTO changes (organisation_id, kind, row_id, cursor, gone)
        SELECT organisation_, kind_, u.id, start_ + u.n, gone_ FROM unnest(ids) WITH ORDINALITY u(id, n)
        ON CONFLICT (organisation_id, kind, row_id)
        DO UPDATE SET cursor = excluded.cursor, gone = excluded.gone;
END $$;

CREATE FUNCTION note_new() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = toolcrib, public AS $$
BEGIN
    PERFORM note_changes(r.organisation_id, TG_TABLE_NAME, array_agg(r.id ORDER BY r.id), false)
        FROM new_rows r GROUP BY r.organisation_id ORDER BY r.organisation_id;
    RETURN NULL;
END $$;
CREATE FUNCTION note_gone() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = toolcrib, public AS $$
BEGIN
    PERFORM note_changes(r.organisation_id, TG_TABLE_NAME, array_agg(r.id ORDER BY r.id), true)
        FROM old_rows r JOIN organisations o ON o.id = r.organisation_id
        GROUP BY r.organisation_id ORDER BY r.organisation_id;
    RETURN NULL;
END $$;
-- of rows that belong to a tool or a profile: the owner counts as changed
CREATE FUNCTION note_owner() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = toolcrib, public AS $$
BEGIN
    IF TG_ARGV[0] = 'profiles' THEN
        PERFORM note_changes(r.organisation_id, 'profiles', array_agg(DISTINCT r.profile_id), false)
            FROM rows r JOIN profiles p ON p.id = r.profile_id GROUP BY r.organisation_id;
    ELSE
        PERFORM note_changes(r.organisation_id, 'tools', array_agg(DISTINCT r.tool_id), false)
            FROM rows r JOIN tools t ON t.id = r.tool_id GROUP BY r.organisation_id;
    END IF;
    RETURN NULL;
END $$;

-- how much each set of grants holds: a search counts first, then chooses its plan
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = toolcrib, public AS $$
DECLARE
    counted text := CASE TG_TABLE_NAME WHEN 'tools' THEN 'sum(length)' ELSE '0' END;
    change text := 'UPDATE scopes s SET %1$I = s.%1$I %3$s c.n, lengths = s.lengths %3$s c.l FROM'
        ' (SELECT scope_id, count(*) n, %2$s l FROM %4$I GROUP BY 1 ORDER BY 1) c WHERE s.id = c.scope_id';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        EXECUTE format(change, TG_TABLE_NAME, counted, '-', 'old_rows');
    END IF;
    IF TG_OP <> 'DELETE' THEN
        EXECUTE format(change, TG_TABLE_NAME, counted, '+', 'new_rows');
    END IF;
    RETURN NULL;
END $$;

-- a server's scope is its tools', their vectors', requests' and findings'
CREATE FUNCTION move_scope() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = toolcrib, public AS $$
BEGIN
    UPDATE tools SET scope_id = NEW.scope_id WHERE server_id = NEW.id;
    UPDATE tool_vectors v SET scope_id = NEW.scope_id FROM tools t WHERE t.id = v.tool_id AND t.server_id = NEW.id;
    UPDATE requests r SET scope_id = NEW.scope_id FROM tools t WHERE t.id = r.tool_id AND t.server_id = NEW.id;
    UPDATE request_vectors r SET scope_id = NEW.scope_id FROM tools t WHERE t.id = r.tool_id AND t.server_id = NEW.id;
    UPDATE findings f SET scope_id = NEW.scope_id FROM tools t WHERE t.id = f.tool_id AND t.server_id = NEW.id;
    UPDATE stems SET scope_id = NEW.scope_id WHERE server_id = NEW.id;
    UPDATE vocabulary SET scope_id = NEW.scope_id WHERE server_id = NEW.id;
    UPDATE decisions d SET scope_id = NEW.scope_id FROM tools t WHERE t.id = d.tool_id AND t.server_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER move_scope AFTER UPDATE OF scope_id ON servers FOR EACH ROW
    WHEN (OLD.scope_id <> NEW.scope_id) EXECUTE FUNCTION move_scope();

CREATE FUNCTION note_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = toolcrib, public AS $$
DECLARE
    hidden text[] := ARRAY['hash', 'sealed', 'mean', 'alike', 'described', 'enhanced', 'used', 'updated'];
    old_ jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
    new_ jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
    row_ jsonb := coalesce(new_, old_);
BEGIN
    IF TG_TABLE_NAME IN ('decisions', 'policies') THEN
        hidden := array_remove(hidden, 'hash');
    END IF;
    IF TG_OP = 'UPDATE' AND old_ - hidden = new_ - hidden AND NOT row_ ? 'sealed' THEN
        RETURN NULL;
    END IF;
    INSERT INTO audit (organisation_id, member_id, action, kind, subject, before, after) VALUES (
        (row_ ->> 'organisation_id')::bigint, member(), lower(TG_OP), TG_TABLE_NAME,
        coalesce(row_ ->> 'name', row_ ->> 'tool_id', row_ ->> 'id'), old_ - hidden, new_ - hidden);
    RETURN NULL;
END $$;

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse();

DO $$
DECLARE
    name_ text;
    mine text := 'organisation_id = (SELECT toolcrib.organisation())';
    visible text := ' AND scope_id = ANY ((SELECT toolcrib.scopes())::bigint[])';
    editing text := ' AND (SELECT toolcrib.may_edit())';
    administering text := ' AND (SELECT toolcrib.role()) = ''admin''';
    own text := ' AND member_id = (SELECT toolcrib.member())';
    allowed text := ' AND ((SELECT toolcrib.allowed()) IS NULL OR tool_id LIKE ANY ((SELECT toolcrib.allowed())::text[]))';
BEGIN
    FOREACH name_ IN ARRAY ARRAY['organisations', 'members', 'tokens', 'scopes', 'servers', 'tools',
        'tool_vectors', 'requests', 'request_vectors', 'vocabulary', 'stems', 'findings', 'decisions', 'profiles',
        'profile_tools', 'policies', 'labels', 'use', 'upstream_secrets', 'sessions', 'blobs', 'audit',
        'cursors', 'changes'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name_);
    END LOOP;
    CREATE POLICY seen ON organisations FOR SELECT USING (id = (SELECT toolcrib.organisation()));
    FOREACH name_ IN ARRAY ARRAY['members', 'scopes', 'policies', 'blobs', 'cursors', 'changes'] LOOP
        EXECUTE format('CREATE POLICY seen ON %I FOR SELECT USING (%s)', name_, mine);
    END LOOP;
    FOREACH name_ IN ARRAY ARRAY['servers', 'tool_vectors', 'requests', 'request_vectors', 'vocabulary', 'stems',
        'findings', 'decisions', 'profiles'] LOOP
        EXECUTE format('CREATE POLICY seen ON %I FOR SELECT USING (%s%s)', name_, mine, visible);
    END LOOP;
    EXECUTE format('CREATE POLICY seen ON tools FOR SELECT USING (%s%s%s)', mine, visible, allowed);
    EXECUTE format('CREATE POLICY seen ON profile_tools FOR SELECT USING (%s AND profile_id IN (SELECT id FROM toolcrib.profiles))', mine);
    FOREACH name_ IN ARRAY ARRAY['scopes', 'servers', 'tools', 'tool_vectors', 'requests', 'request_vectors',
        'vocabulary', 'stems', 'findings', 'decisions', 'profiles', 'profile_tools', 'policies', 'blobs'] LOOP
        EXECUTE format('CREATE POLICY added ON %I FOR INSERT WITH CHECK (%s%s)', name_, mine, editing);
        EXECUTE format('CREATE POLICY changed ON %I FOR UPDATE USING (%s%s)', name_, mine, editing);
        EXECUTE format('CREATE POLICY removed ON %I FOR DELETE USING (%s%s)', name_, mine, editing);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO toolcrib_member', name_);
    END LOOP;
    EXECUTE format('CREATE POLICY added ON members FOR INSERT WITH CHECK (%s%s)', mine, administering);
    EXECUTE format('CREATE POLICY changed ON members FOR UPDATE USING (%s%s)', mine, administering);
    GRANT SELECT, INSERT, UPDATE ON members TO toolcrib_member;
    -- one's own, and for an admin everybody's
    FOREACH name_ IN ARRAY ARRAY['tokens', 'labels', 'use', 'sessions'] LOOP
        EXECUTE format('CREATE POLICY owned ON %I USING (%s%s)', name_, mine, own);
        EXECUTE format('CREATE POLICY overseen ON %I USING (%s%s)', name_, mine, administering);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO toolcrib_member', name_);
    END LOOP;
    -- a label counts for all; a credential of the organisation is used by all who see its server
    EXECUTE format('CREATE POLICY seen ON labels FOR SELECT USING (%s)', mine);
    EXECUTE format('CREATE POLICY owned ON upstream_secrets USING (%s%s)', mine, own);
    EXECUTE format('CREATE POLICY shared ON upstream_secrets FOR SELECT USING (%s AND member_id = 0 AND server_id IN (SELECT id FROM toolcrib.servers))', mine);
    EXECUTE format('CREATE POLICY overseen ON upstream_secrets USING (%s AND member_id = 0%s)', mine, administering);
    GRANT SELECT, INSERT, UPDATE, DELETE ON upstream_secrets TO toolcrib_member;
    EXECUTE format('CREATE POLICY overseen ON audit FOR SELECT USING (%s%s)', mine, administering);
    GRANT SELECT ON organisations, audit, cursors, changes TO toolcrib_member;

    FOREACH name_ IN ARRAY ARRAY['servers', 'tools', 'profiles', 'policies', 'labels', 'decisions'] LOOP
        EXECUTE format('CREATE TRIGGER note_added AFTER INSERT ON %I REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_new()', name_);
        EXECUTE format('CREATE TRIGGER note_changed AFTER UPDATE ON %I REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION note_new()', name_);
        EXECUTE format('CREATE TRIGGER note_removed AFTER DELETE ON %I REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION note_gone()', name_);
    END LOOP;
    FOREACH name_ IN ARRAY ARRAY['tools', 'tool_vectors', 'request_vectors'] LOOP
        EXECUTE format('CREATE TRIGGER count_new AFTER INSERT ON %I REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_rows()', name_);
        EXECUTE format('CREATE TRIGGER count_changed AFTER UPDATE ON %I REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION count_rows()', name_);
        EXECUTE format('CREATE TRIGGER count_gone AFTER DELETE ON %I REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION count_rows()', name_);
    END LOOP;
    FOREACH name_ IN ARRAY ARRAY['requests', 'findings', 'profile_tools'] LOOP
        EXECUTE format('CREATE TRIGGER note_added AFTER INSERT ON %I REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION note_owner(%L)', name_, CASE name_ WHEN 'profile_tools' THEN 'profiles' ELSE 'tools' END);
        EXECUTE format('CREATE TRIGGER note_changed AFTER UPDATE ON %I REFERENCING NEW TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION note_owner(%L)', name_, CASE name_ WHEN 'profile_tools' THEN 'profiles' ELSE 'tools' END);
        EXECUTE format('CREATE TRIGGER note_removed AFTER DELETE ON %I REFERENCING OLD TABLE AS rows FOR EACH STATEMENT EXECUTE FUNCTION note_owner(%L)', name_, CASE name_ WHEN 'profile_tools' THEN 'profiles' ELSE 'tools' END);
    END LOOP;
    FOREACH name_ IN ARRAY ARRAY['members', 'tokens', 'servers', 'profiles', 'policies', 'decisions', 'upstream_secrets'] LOOP
        EXECUTE format('CREATE TRIGGER note_audit AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION note_audit()', name_);
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA toolcrib TO toolcrib_member;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA toolcrib FROM public;
GRANT EXECUTE ON FUNCTION organisation(), member(), role(), scopes(), allowed(), may_edit() TO toolcrib_member;
GRANT EXECUTE ON FUNCTION matching(text[], float8[], text[], float8, float8, bigint[], integer) TO toolcrib_member;
