-- look
SELECT COALESCE((SELECT 1 FROM "shop"."outbox" o WHERE o.state = 'PENDING' ORDER BY o.bucket, o.seq LIMIT 1), (SELECT 1 FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.next_attempt_at <= statement_timestamp() ORDER BY o.next_attempt_at LIMIT 1), 0), COALESCE((SELECT 1 FROM "shop"."outbox" o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') ORDER BY o.aggregate_type, o.aggregate_id, o.seq LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM "shop"."rowrelay_claims" p WHERE p.outbox = $1 AND p.unit = 'pause'), (SELECT n.info FROM "shop"."rowrelay_claims" n WHERE n.outbox = $2 AND n.unit = '*')
--   shop.outbox
--   shop.outbox

-- survey
SELECT unit, owner, info, CASE WHEN expires_at > statement_timestamp() THEN 1 ELSE 0 END FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox

-- renew
UPDATE "shop"."rowrelay_claims" AS c SET expires_at = statement_timestamp() + CAST($1 AS bigint) * interval '1 millisecond' WHERE c.outbox = $2 AND c.unit = ANY(CAST($3 AS text[])) AND c.owner = $4 AND c.expires_at > statement_timestamp()
--   60000
--   shop.outbox
--   [p0 p1 i:me]
--   me

-- take
BEGIN
INSERT INTO "shop"."rowrelay_claims" AS c (outbox, unit, owner, token, expires_at) VALUES ($1, '*', '', 1, statement_timestamp()) ON CONFLICT (outbox, unit) DO UPDATE SET token = c.token + 1 RETURNING token
--   shop.outbox
SELECT unit, owner, info, CASE WHEN expires_at > statement_timestamp() THEN 1 ELSE 0 END FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox
DELETE FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = $1 AND c.unit = ANY(CAST($2 AS text[])) AND c.expires_at <= statement_timestamp()
--   shop.outbox
--   [i:old]
SELECT unit, owner, info, CASE WHEN expires_at > statement_timestamp() THEN 1 ELSE 0 END FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox
UPDATE "shop"."rowrelay_claims" SET info = $1 WHERE outbox = $2 AND unit = '*'
--   {"partitions":32}
--   shop.outbox
INSERT INTO "shop"."rowrelay_claims" AS c (outbox, unit, owner, token, expires_at) SELECT CAST($1 AS text), r.unit, CAST($2 AS text), CAST($3 AS bigint), statement_timestamp() + CAST($4 AS bigint) * interval '1 millisecond' FROM jsonb_to_recordset(CAST($5 AS jsonb)) AS r(unit text) WHERE true ORDER BY r.unit ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at WHERE c.expires_at <= statement_timestamp() OR c.owner = excluded.owner RETURNING unit
--   shop.outbox
--   me
--   1
--   60000
--   [{"unit":"i:me"},{"unit":"p0"},{"unit":"p1"}]
COMMIT

-- release two partitions
DELETE FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = $1 AND c.unit = ANY(CAST($2 AS text[])) AND c.owner = $3
--   shop.outbox
--   [p0 p1]
--   me

-- release everything
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND owner = $2
--   shop.outbox
--   me
DELETE FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = $1 AND c.unit = ANY(CAST($2 AS text[])) AND c.owner = $3
--   shop.outbox
--   [p0]
--   me

-- pause
BEGIN
INSERT INTO "shop"."rowrelay_claims" AS c (outbox, unit, owner, token, expires_at) VALUES ($1, '*', '', 1, statement_timestamp()) ON CONFLICT (outbox, unit) DO UPDATE SET token = c.token + 1 RETURNING token
--   shop.outbox
DELETE FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND unit = 'pause'
--   shop.outbox
INSERT INTO "shop"."rowrelay_claims" (outbox, unit, owner, token, expires_at, info) VALUES ($1, 'pause', '', 0, statement_timestamp(), $2)
--   shop.outbox
--   ann
COMMIT

-- resume
DELETE FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND unit = 'pause'
--   shop.outbox

-- fetch the whole table
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, octet_length(o.payload), CASE WHEN octet_length(o.payload) <= $1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN statement_timestamp() END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND octet_length(o.aggregate_id) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= $2 AND o.bucket < $3 ORDER BY o.bucket, o.seq LIMIT $4) k JOIN LATERAL (SELECT * FROM "shop"."outbox" o WHERE o.seq = k.seq LIMIT 1) o ON true ORDER BY k.bucket, k.seq
--   1048576
--   0
--   1024
--   501

-- fetch two ranges
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, octet_length(o.payload), CASE WHEN octet_length(o.payload) <= $1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN statement_timestamp() END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND octet_length(o.aggregate_id) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT bucket, seq FROM (SELECT bucket, seq FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= $2 AND o.bucket < $3 ORDER BY o.bucket, o.seq LIMIT $4) r0 UNION ALL SELECT bucket, seq FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= $5 AND o.bucket < $6 ORDER BY o.bucket, o.seq LIMIT $7) r1) u ORDER BY bucket, seq LIMIT $8) k JOIN LATERAL (SELECT * FROM "shop"."outbox" o WHERE o.seq = k.seq LIMIT 1) o ON true ORDER BY k.bucket, k.seq
--   1048576
--   0
--   16
--   501
--   64
--   80
--   501
--   501

-- fetch two ranges by seq
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, octet_length(o.payload), CASE WHEN octet_length(o.payload) <= $1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN statement_timestamp() END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND octet_length(o.aggregate_id) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT bucket, seq FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.seq > $2 ORDER BY o.seq LIMIT $3) f WHERE (1 = 0 OR f.bucket >= $4 AND f.bucket < $5 OR f.bucket >= $6 AND f.bucket < $7) ORDER BY f.seq LIMIT $8) k JOIN LATERAL (SELECT * FROM "shop"."outbox" o WHERE o.seq = k.seq LIMIT 1) o ON true ORDER BY k.seq
--   1048576
--   -9223372036854775808
--   1603
--   0
--   512
--   640
--   768
--   501

-- fetch the whole table by seq
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, octet_length(o.payload), CASE WHEN octet_length(o.payload) <= $1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN statement_timestamp() END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND octet_length(o.aggregate_id) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.seq > $2 ORDER BY o.seq LIMIT $3) k JOIN LATERAL (SELECT * FROM "shop"."outbox" o WHERE o.seq = k.seq LIMIT 1) o ON true ORDER BY k.seq
--   1048576
--   -9223372036854775808
--   501

-- fetch in the order of the source
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, octet_length(o.payload), CASE WHEN octet_length(o.payload) <= $1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN statement_timestamp() END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.seq > $2 ORDER BY o.seq LIMIT $3) k JOIN LATERAL (SELECT * FROM "shop"."outbox" o WHERE o.seq = k.seq LIMIT 1) o ON true ORDER BY k.seq
--   1048576
--   -9223372036854775808
--   501

-- fetch without an order, dead letters not blocking
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, octet_length(o.payload), CASE WHEN octet_length(o.payload) <= $1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN statement_timestamp() END, CASE WHEN 1 = 0 THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= $2 AND o.bucket < $3 ORDER BY o.bucket, o.seq LIMIT $4) k JOIN LATERAL (SELECT * FROM "shop"."outbox" o WHERE o.seq = k.seq LIMIT 1) o ON true ORDER BY k.bucket, k.seq
--   1048576
--   0
--   1024
--   501

-- due
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, octet_length(o.payload), CASE WHEN octet_length(o.payload) <= $1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN statement_timestamp() END, 0 FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.next_attempt_at <= statement_timestamp() AND (1 = 0 OR o.bucket >= $2 AND o.bucket < $3 OR o.bucket >= $4 AND o.bucket < $5) AND (NOT octet_length(o.aggregate_id) > 0 OR (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1) = o.seq) ORDER BY o.next_attempt_at, o.seq LIMIT $6
--   1048576
--   0
--   16
--   64
--   80
--   10
SELECT COALESCE(-MAX(CAST(EXTRACT(EPOCH FROM (statement_timestamp() - n.due)) * 1000 AS bigint)), -1) FROM (SELECT o.next_attempt_at AS due FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.next_attempt_at > statement_timestamp() AND (1 = 0 OR o.bucket >= $1 AND o.bucket < $2 OR o.bucket >= $3 AND o.bucket < $4) ORDER BY o.next_attempt_at LIMIT 1) n
--   0
--   16
--   64
--   80

-- other
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, octet_length(o.payload), CASE WHEN octet_length(o.payload) <= $1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN statement_timestamp() END, 0 FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= $2 AND o.bucket < $3 AND NOT (o.aggregate_type = $4 AND o.aggregate_id = $5) AND NOT (o.aggregate_type = $6 AND o.aggregate_id = $7) AND NOT EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND octet_length(o.aggregate_id) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.bucket, o.seq LIMIT $8) k JOIN LATERAL (SELECT * FROM "shop"."outbox" o WHERE o.seq = k.seq LIMIT 1) o ON true ORDER BY k.bucket, k.seq
--   1048576
--   0
--   16
--   O
--   1
--   O
--   2
--   1

-- again
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, octet_length(o.payload), CASE WHEN octet_length(o.payload) <= $1 THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN statement_timestamp() END, 0 FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.seq = ANY(CAST($2 AS bigint[])) AND o.state = 'PENDING' AND NOT EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND octet_length(o.aggregate_id) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k JOIN LATERAL (SELECT * FROM "shop"."outbox" o WHERE o.seq = k.seq LIMIT 1) o ON true ORDER BY k.bucket, k.seq
--   1048576
--   [1 2]

-- settle published
UPDATE "shop"."outbox" SET state = 'PUBLISHED', published_at = statement_timestamp(), next_attempt_at = NULL WHERE seq = ANY(CAST($1 AS bigint[])) AND state IN ('PENDING', 'FAILED') AND (SELECT set_config('lock_timeout', '2000ms', true)) IS NOT NULL AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = $2 AND owner = $3 AND unit NOT LIKE 'i:%' AND expires_at > statement_timestamp()) >= $4
--   [1 2]
--   shop.outbox
--   me
--   1
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq = ANY(CAST($1 AS bigint[])) AND o.state IN ('PENDING', 'FAILED')
--   [1 2]

-- settle everything else
BEGIN
SET LOCAL lock_timeout = '2000ms'
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND owner = $2 AND unit NOT LIKE 'i:%' AND expires_at > statement_timestamp()
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = $1 AND c.unit = ANY(CAST($2 AS text[])) AND c.owner = $3 AND c.expires_at > statement_timestamp() ORDER BY c.unit FOR UPDATE OF c
--   shop.outbox
--   [p0]
--   me
UPDATE "shop"."outbox" SET state = 'PUBLISHED', published_at = statement_timestamp(), next_attempt_at = NULL WHERE seq = ANY(CAST($1 AS bigint[])) AND state IN ('PENDING', 'FAILED')
--   [1 1]
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq = ANY(CAST($1 AS bigint[])) AND o.state IN ('PENDING', 'FAILED')
--   [1 1]
UPDATE "shop"."outbox" AS o SET state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE statement_timestamp() + CAST(f.pause AS bigint) * interval '1 millisecond' END FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS f(seq bigint, attempts bigint, pause bigint, dead bigint, reason text) WHERE o.seq = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED')
--   [{"seq":1,"attempts":2,"pause":5000,"dead":0,"reason":"refused"}]
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq = ANY(CAST($1 AS bigint[])) AND EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND octet_length(o.aggregate_id) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING')
--   [1]
UPDATE "shop"."outbox" SET state = 'WAITING' WHERE seq = ANY(CAST($1 AS bigint[])) AND state IN ('PENDING')
--   [1]
SELECT a.typ, a.id, (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1), (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq LIMIT 1 OFFSET 4000) FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS a(typ text, id text)
--   [{"typ":"O","id":"1"}]
UPDATE "shop"."outbox" AS o SET state = 'PENDING' FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS h(typ text, id text, head bigint) WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head AND o.aggregate_type = h.typ AND o.aggregate_id = h.id
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- settle what has a time
BEGIN
SET LOCAL lock_timeout = '2000ms'
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND owner = $2 AND unit NOT LIKE 'i:%' AND expires_at > statement_timestamp()
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = $1 AND c.unit = ANY(CAST($2 AS text[])) AND c.owner = $3 AND c.expires_at > statement_timestamp() ORDER BY c.unit FOR UPDATE OF c
--   shop.outbox
--   [p0]
--   me
UPDATE "shop"."outbox" AS o SET state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE statement_timestamp() + CAST(f.pause AS bigint) * interval '1 millisecond' END FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS f(seq bigint, attempts bigint, pause bigint, dead bigint, reason text) WHERE o.seq = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED')
--   [{"seq":1,"attempts":0,"pause":3600000,"dead":0,"reason":"later"}]
UPDATE "shop"."outbox" SET state = 'PENDING', next_attempt_at = NULL, last_error = NULL WHERE seq = ANY(CAST($1 AS bigint[])) AND state IN ('FAILED')
--   [1]
UPDATE "shop"."outbox" SET state = 'DISCARDED', published_at = statement_timestamp(), next_attempt_at = NULL, last_error = 'expired' WHERE seq = ANY(CAST($1 AS bigint[])) AND state IN ('PENDING', 'FAILED')
--   [1]
SELECT a.typ, a.id, (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1), (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq LIMIT 1 OFFSET 2000) FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS a(typ text, id text)
--   [{"typ":"O","id":"1"},{"typ":"O","id":"1"}]
UPDATE "shop"."outbox" AS o SET state = 'PENDING' FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS h(typ text, id text, head bigint) WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head AND o.aggregate_type = h.typ AND o.aggregate_id = h.id
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- settle a retry in the order of the source
BEGIN
SET LOCAL lock_timeout = '2000ms'
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND owner = $2 AND unit NOT LIKE 'i:%' AND expires_at > statement_timestamp()
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = $1 AND c.unit = ANY(CAST($2 AS text[])) AND c.owner = $3 AND c.expires_at > statement_timestamp() ORDER BY c.unit FOR UPDATE OF c
--   shop.outbox
--   [p0]
--   me
UPDATE "shop"."outbox" SET state = 'PUBLISHED', published_at = statement_timestamp(), next_attempt_at = NULL WHERE seq = ANY(CAST($1 AS bigint[])) AND state IN ('PENDING', 'FAILED')
--   [1]
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq = ANY(CAST($1 AS bigint[])) AND EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING')
--   [1]
UPDATE "shop"."outbox" SET state = 'WAITING' WHERE seq = ANY(CAST($1 AS bigint[])) AND state IN ('PENDING')
--   [1]
SELECT a.typ, a.id, (SELECT b.seq FROM "shop"."outbox" b WHERE 1 = 1 AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1), (SELECT b.seq FROM "shop"."outbox" b WHERE 1 = 1 AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq LIMIT 1 OFFSET 4000) FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS a(typ text, id text)
--   [{"typ":"","id":""}]
UPDATE "shop"."outbox" AS o SET state = 'PENDING' FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS h(typ text, id text, head bigint) WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- mend
SELECT DISTINCT o.aggregate_type, o.aggregate_id FROM "shop"."outbox" o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING'
SELECT a.typ, a.id, (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1), (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq LIMIT 1 OFFSET 4000) FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS a(typ text, id text)
--   [{"typ":"O","id":"1"}]
UPDATE "shop"."outbox" AS o SET state = 'PENDING' FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS h(typ text, id text, head bigint) WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head AND o.aggregate_type = h.typ AND o.aggregate_id = h.id
--   [{"typ":"O","id":"1","head":9}]

-- work
SELECT bucket FROM (SELECT o.bucket FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.next_attempt_at <= statement_timestamp() ORDER BY o.next_attempt_at LIMIT 1000) n UNION ALL SELECT bucket FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= 0 AND o.bucket < 512 ORDER BY o.bucket, o.seq LIMIT 1) r0 UNION ALL SELECT bucket FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= 512 AND o.bucket < 1024 ORDER BY o.bucket, o.seq LIMIT 1) r1

-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state = 'PENDING' ORDER BY o.bucket, o.seq LIMIT $1) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > statement_timestamp() ORDER BY o.next_attempt_at LIMIT $2) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND NOT (o.retry_count = 0 AND o.next_attempt_at > statement_timestamp()) ORDER BY o.next_attempt_at LIMIT $3) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' ORDER BY o.aggregate_type, o.aggregate_id, o.seq LIMIT $4) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'DEAD LETTER' ORDER BY o.aggregate_type, o.aggregate_id, o.seq LIMIT $5) n), (SELECT a.created_at FROM "shop"."outbox" a WHERE a.seq = (SELECT MIN(h.seq) FROM (SELECT (SELECT o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= r.b AND o.bucket <= r.b ORDER BY o.bucket, o.seq LIMIT 1) AS seq FROM jsonb_to_recordset(CAST($6 AS jsonb)) AS r(b bigint)) h)), statement_timestamp()
--   100001
--   100001
--   100001
--   100001
--   100001
--   [{"b":0},{"b":1},{"b":2},{"b":3},{"b":4},{"b":5},{"b":6},{"b":7},{"b":8},{"b":9},{"b":10},{"b":11},{

