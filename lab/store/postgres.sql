-- The store on PostgreSQL. {schema} and {reader} are quoted identifiers.
-- Every key begins with the tenant, so that tables partition by it here and
-- distribute by it on an engine that shards.

CREATE TABLE {schema}.settings(
  tenant text COLLATE "C" PRIMARY KEY CHECK (tenant = ''),
  encoder text NOT NULL, encoder_spec text NOT NULL,
  chunker text NOT NULL, chunker_spec text NOT NULL,
  terms text NOT NULL,
  -- Where pgvector's types are, when an approximate index is kept.
  approximate text NOT NULL DEFAULT ''
);
-- For the owner alone: the format's version, the key that signs readers'
-- claims, the reading role's password.
CREATE TABLE {schema}.secrets(
  tenant text COLLATE "C" CHECK (tenant = ''),
  name text COLLATE "C", value text NOT NULL,
  PRIMARY KEY (tenant, name)
);
CREATE TABLE {schema}.principals(
  tenant text COLLATE "C", name text COLLATE "C",
  clearance smallint NOT NULL, revision bigint NOT NULL,
  PRIMARY KEY (tenant, name)
);
CREATE TABLE {schema}.inside(
  tenant text COLLATE "C", name text COLLATE "C", barrier text COLLATE "C",
  PRIMARY KEY (tenant, name, barrier)
);
CREATE TABLE {schema}.groups(
  tenant text COLLATE "C", name text COLLATE "C",
  incarnation bigint NOT NULL, revision bigint NOT NULL,
  live boolean NOT NULL,
  PRIMARY KEY (tenant, name)
);
CREATE TABLE {schema}.members(
  tenant text COLLATE "C", grp text COLLATE "C",
  kind text COLLATE "C", name text COLLATE "C",
  incarnation bigint NOT NULL,
  PRIMARY KEY (tenant, grp, kind, name)
);
CREATE INDEX members_by_name
  ON {schema}.members(tenant, kind, name, incarnation);
CREATE TABLE {schema}.documents(
  tenant text COLLATE "C", doc_id text COLLATE "C",
  revision bigint NOT NULL, policy_revision bigint NOT NULL,
  live boolean NOT NULL, format text NOT NULL,
  title text NOT NULL, body text NOT NULL, sha256 text NOT NULL,
  updated_at bigint, origin text,
  classification smallint NOT NULL, barrier text COLLATE "C",
  chunk_count integer NOT NULL, term_count bigint NOT NULL,
  PRIMARY KEY (tenant, doc_id)
) PARTITION BY HASH (tenant);
CREATE TABLE {schema}.readers(
  tenant text COLLATE "C", doc_id text COLLATE "C",
  kind text COLLATE "C", name text COLLATE "C",
  incarnation bigint NOT NULL,
  PRIMARY KEY (tenant, doc_id, kind, name),
  FOREIGN KEY (tenant, doc_id) REFERENCES {schema}.documents
) PARTITION BY HASH (tenant);
CREATE TABLE {schema}.chunks(
  tenant text COLLATE "C", doc_id text COLLATE "C", number integer,
  start integer NOT NULL, stop integer NOT NULL,
  text text NOT NULL, sha256 text NOT NULL,
  headings text NOT NULL, length integer NOT NULL,
  PRIMARY KEY (tenant, doc_id, number),
  FOREIGN KEY (tenant, doc_id) REFERENCES {schema}.documents
) PARTITION BY HASH (tenant);
CREATE TABLE {schema}.vectors(
  tenant text COLLATE "C", doc_id text COLLATE "C", number integer,
  sha256 text NOT NULL, norm bigint NOT NULL, data bytea,
  PRIMARY KEY (tenant, doc_id, number),
  FOREIGN KEY (tenant, doc_id, number) REFERENCES {schema}.chunks
) PARTITION BY HASH (tenant);
-- What a posting needs of its chunk is repeated in it, so that one index
-- answers. No foreign key here: it would be checked for every posting of
-- every document; that each has its chunk is for `verify` to say.
CREATE TABLE {schema}.features(
  tenant text COLLATE "C", name text COLLATE "C",
  doc_id text COLLATE "C", number integer,
  count bigint NOT NULL, norm bigint NOT NULL,
  PRIMARY KEY (tenant, name, doc_id, number) INCLUDE (count, norm)
) PARTITION BY HASH (tenant);
CREATE INDEX features_by_chunk
  ON {schema}.features(tenant, doc_id, number);
CREATE TABLE {schema}.post(
  tenant text COLLATE "C", term text COLLATE "C",
  doc_id text COLLATE "C", number integer,
  tf integer NOT NULL, length integer NOT NULL,
  PRIMARY KEY (tenant, term, doc_id, number) INCLUDE (tf, length)
) PARTITION BY HASH (tenant);
CREATE INDEX post_by_chunk ON {schema}.post(tenant, doc_id, number);

DO $partitions$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['documents', 'readers', 'chunks', 'vectors',
                              'features', 'post'] LOOP
    FOR part IN 0..{partitions} - 1 LOOP
      EXECUTE format(
        'CREATE TABLE %I.%I PARTITION OF %I.%I'
        ' FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
        {schema_text}, name || '_' || part, {schema_text}, name,
        {partitions}, part);
    END LOOP;
  END LOOP;
END
$partitions$;

-- The planner's statistics keep samples of a column, and keep them when the
-- rows are gone. Of these columns there are to be none.
ALTER TABLE {schema}.documents
  ALTER title SET STATISTICS 0, ALTER body SET STATISTICS 0,
  ALTER origin SET STATISTICS 0;
ALTER TABLE {schema}.chunks
  ALTER text SET STATISTICS 0, ALTER headings SET STATISTICS 0;
ALTER TABLE {schema}.vectors ALTER data SET STATISTICS 0;
ALTER TABLE {schema}.features ALTER name SET STATISTICS 0;
ALTER TABLE {schema}.post ALTER term SET STATISTICS 0;

-- Which documents a reader may read: the one decision, made here.
-- UNION (not UNION ALL) ends cycles of groups.
CREATE FUNCTION {schema}.view_of(who_tenant text, who_name text)
RETURNS TABLE(doc_id text, chunk_count integer, term_count bigint)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $body$
WITH RECURSIVE mine(name, incarnation) AS (
  SELECT g.name, g.incarnation
  FROM {schema}.members m
  JOIN {schema}.groups g ON g.tenant = m.tenant AND g.name = m.grp
  WHERE m.tenant = who_tenant AND m.kind = 'principal'
    AND m.name = who_name AND g.live
  UNION
  SELECT g.name, g.incarnation
  FROM mine
  JOIN {schema}.members m ON m.tenant = who_tenant AND m.kind = 'group'
    AND m.name = mine.name AND m.incarnation = mine.incarnation
  JOIN {schema}.groups g ON g.tenant = m.tenant AND g.name = m.grp
  WHERE g.live
)
SELECT d.doc_id, d.chunk_count, d.term_count
FROM {schema}.documents d
WHERE d.tenant = who_tenant AND d.live
  AND d.classification <= COALESCE(
    (SELECT p.clearance FROM {schema}.principals p
     WHERE p.tenant = who_tenant AND p.name = who_name), {internal})
  AND (d.barrier IS NULL OR d.barrier IN (
    SELECT i.barrier FROM {schema}.inside i
    WHERE i.tenant = who_tenant AND i.name = who_name))
  AND EXISTS (
    SELECT 1 FROM {schema}.readers r
    WHERE r.tenant = d.tenant AND r.doc_id = d.doc_id AND (
      r.kind = 'any'
      OR (r.kind = 'principal' AND r.name = who_name)
      OR (r.kind = 'group' AND (r.name, r.incarnation) IN (
        SELECT name, incarnation FROM mine))))
$body$;

-- HMAC-SHA-256 (RFC 2104) from the built-in sha256. The key is 64 bytes,
-- one block, so it is used as it is.
CREATE FUNCTION {schema}.hmac(key bytea, message bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
  inner_pad bytea := key;
  outer_pad bytea := key;
BEGIN
  FOR n IN 0..63 LOOP
    inner_pad := set_byte(inner_pad, n, get_byte(key, n) # 54);
    outer_pad := set_byte(outer_pad, n, get_byte(key, n) # 92);
  END LOOP;
  RETURN sha256(outer_pad || sha256(inner_pad || message));
END
$body$;

-- What a signature covers besides the reader: this server process and this
-- transaction, so that it cannot be kept and used again.
CREATE FUNCTION {schema}.moment() RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $body$
SELECT pg_backend_pid() || ' ' || extract(epoch FROM transaction_timestamp())
$body$;

-- The verified reader of this transaction, or no row. It runs with its
-- owner's rights, because only the owner may see the key.
CREATE FUNCTION {schema}.reader()
RETURNS TABLE(tenant text, principal text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
  claim text[] := string_to_array(
    current_setting('keeps_secrets.reader', true), ' ');
  key bytea;
BEGIN
  IF claim IS NULL OR array_length(claim, 1) <> 3 THEN
    RETURN;
  END IF;
  SELECT decode(s.value, 'hex') INTO key
  FROM {schema}.secrets s WHERE s.name = 'signing-key';
  -- Digests are compared, so that how long it takes says nothing of how
  -- much of a guess was right.
  IF sha256(convert_to(claim[3], 'UTF8')) IS DISTINCT FROM sha256(convert_to(
      encode({schema}.hmac(key, convert_to(
        claim[1] || ' ' || claim[2] || ' ' || {schema}.moment(),
        'UTF8')), 'hex'), 'UTF8')) THEN
    RETURN;
  END IF;
  RETURN QUERY SELECT claim[1], claim[2];
END
$body$;

-- The view of the verified reader: what row security compares with.
CREATE FUNCTION {schema}.readable()
RETURNS TABLE(tenant text, doc_id text, chunk_count integer,
              term_count bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $body$
SELECT r.tenant, v.*
FROM {schema}.reader() r, {schema}.view_of(r.tenant, r.principal) v
$body$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC;
GRANT USAGE ON SCHEMA {schema} TO {reader};
GRANT EXECUTE ON FUNCTION {schema}.moment(), {schema}.readable()
  TO {reader};
GRANT SELECT (encoder, encoder_spec, chunker, chunker_spec, terms,
  approximate)
  ON {schema}.settings TO {reader};
-- Column by column, because a grant of the whole table includes ctid, and
-- gaps between the places of one's own rows count other people's.
GRANT SELECT (tenant, doc_id, revision, live, format, title, body, sha256,
  updated_at, origin, chunk_count, term_count)
  ON {schema}.documents TO {reader};
GRANT SELECT (tenant, doc_id, number, start, stop, text, sha256, headings,
  length) ON {schema}.chunks TO {reader};
GRANT SELECT (tenant, doc_id, number, norm, data)
  ON {schema}.vectors TO {reader};
GRANT SELECT (tenant, name, doc_id, number, count, norm)
  ON {schema}.features TO {reader};
GRANT SELECT (tenant, term, doc_id, number, tf, length)
  ON {schema}.post TO {reader};

DO $walls$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['documents', 'chunks', 'vectors', 'features',
                              'post'] LOOP
    EXECUTE format('ALTER TABLE %I.%I ENABLE ROW LEVEL SECURITY',
                   {schema_text}, name);
    -- Asked once for each statement, not once for each row.
    EXECUTE format(
      'CREATE POLICY readable ON %I.%I FOR SELECT TO {reader}'
      ' USING ((tenant, doc_id) IN'
      ' (SELECT r.tenant, r.doc_id FROM {schema}.readable() r))',
      {schema_text}, name);
  END LOOP;
END
$walls$;
