-- look
SELECT COALESCE((SELECT 1 FROM "shop"."outbox" o WHERE o.state = 'PENDING' ORDER BY o.bucket, o.seq LIMIT 1), (SELECT 1 FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY o.next_attempt_at LIMIT 1), 0), COALESCE((SELECT 1 FROM "shop"."outbox" o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') ORDER BY o.aggregate_type, o.aggregate_id, o.seq LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM "shop"."rowrelay_claims" p WHERE p.outbox = ? AND p.unit = 'pause'), (SELECT n.info FROM "shop"."rowrelay_claims" n WHERE n.outbox = ? AND n.unit = '*')
--   shop.outbox
--   shop.outbox

-- survey
SELECT unit, owner, info, CASE WHEN expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 ELSE 0 END FROM "shop"."rowrelay_claims" WHERE outbox = ? AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox

-- renew
UPDATE "shop"."rowrelay_claims" AS c SET expires_at = strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / 1000.0)) WHERE c.outbox = ? AND c.unit IN (SELECT value FROM json_each(?)) AND c.owner = ? AND c.expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')
--   60000
--   shop.outbox
--   ["p0","p1","i:me"]
--   me

-- take
BEGIN
INSERT INTO "shop"."rowrelay_claims" AS c (outbox, unit, owner, token, expires_at) VALUES (?, '*', '', 1, strftime('%Y-%m-%d %H:%M:%f', 'now')) ON CONFLICT (outbox, unit) DO UPDATE SET token = c.token + 1 RETURNING token
--   shop.outbox
SELECT unit, owner, info, CASE WHEN expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 ELSE 0 END FROM "shop"."rowrelay_claims" WHERE outbox = ? AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox
DELETE FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = ? AND c.unit IN (SELECT value FROM json_each(?)) AND c.expires_at <= strftime('%Y-%m-%d %H:%M:%f', 'now')
--   shop.outbox
--   ["i:old"]
SELECT unit, owner, info, CASE WHEN expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 1 ELSE 0 END FROM "shop"."rowrelay_claims" WHERE outbox = ? AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox
UPDATE "shop"."rowrelay_claims" SET info = ? WHERE outbox = ? AND unit = '*'
--   {"partitions":32}
--   shop.outbox
INSERT INTO "shop"."rowrelay_claims" AS c (outbox, unit, owner, token, expires_at) SELECT CAST(? AS text), r.unit, CAST(? AS text), CAST(? AS bigint), strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / 1000.0)) FROM (SELECT json_extract(value, '$.unit') AS unit FROM json_each(?)) AS r WHERE true ORDER BY r.unit ON CONFLICT (outbox, unit) DO UPDATE SET owner = excluded.owner, token = excluded.token, expires_at = excluded.expires_at WHERE c.expires_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') OR c.owner = excluded.owner RETURNING unit
--   shop.outbox
--   me
--   1
--   60000
--   [{"unit":"i:me"},{"unit":"p0"},{"unit":"p1"}]
COMMIT

-- release two partitions
DELETE FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = ? AND c.unit IN (SELECT value FROM json_each(?)) AND c.owner = ?
--   shop.outbox
--   ["p0","p1"]
--   me

-- release everything
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = ? AND owner = ?
--   shop.outbox
--   me
DELETE FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = ? AND c.unit IN (SELECT value FROM json_each(?)) AND c.owner = ?
--   shop.outbox
--   ["p0"]
--   me

-- pause
BEGIN
INSERT INTO "shop"."rowrelay_claims" AS c (outbox, unit, owner, token, expires_at) VALUES (?, '*', '', 1, strftime('%Y-%m-%d %H:%M:%f', 'now')) ON CONFLICT (outbox, unit) DO UPDATE SET token = c.token + 1 RETURNING token
--   shop.outbox
DELETE FROM "shop"."rowrelay_claims" WHERE outbox = ? AND unit = 'pause'
--   shop.outbox
INSERT INTO "shop"."rowrelay_claims" (outbox, unit, owner, token, expires_at, info) VALUES (?, 'pause', '', 0, strftime('%Y-%m-%d %H:%M:%f', 'now'), ?)
--   shop.outbox
--   ann
COMMIT

-- resume
DELETE FROM "shop"."rowrelay_claims" WHERE outbox = ? AND unit = 'pause'
--   shop.outbox

-- fetch the whole table
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, length(CAST(o.payload AS BLOB)), CASE WHEN length(CAST(o.payload AS BLOB)) <= ? THEN o.payload END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND length(CAST(o.aggregate_id AS BLOB)) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? ORDER BY o.bucket, o.seq LIMIT ?) k CROSS JOIN "shop"."outbox" o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   0
--   1024
--   501

-- fetch two ranges
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, length(CAST(o.payload AS BLOB)), CASE WHEN length(CAST(o.payload AS BLOB)) <= ? THEN o.payload END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND length(CAST(o.aggregate_id AS BLOB)) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT bucket, seq FROM (SELECT bucket, seq FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? ORDER BY o.bucket, o.seq LIMIT ?) r0 UNION ALL SELECT bucket, seq FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? ORDER BY o.bucket, o.seq LIMIT ?) r1) u ORDER BY bucket, seq LIMIT ?) k CROSS JOIN "shop"."outbox" o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   0
--   16
--   501
--   64
--   80
--   501
--   501

-- fetch two ranges by seq
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, length(CAST(o.payload AS BLOB)), CASE WHEN length(CAST(o.payload AS BLOB)) <= ? THEN o.payload END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND length(CAST(o.aggregate_id AS BLOB)) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT bucket, seq FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.seq > ? ORDER BY o.seq LIMIT ?) f WHERE (1 = 0 OR f.bucket >= ? AND f.bucket < ? OR f.bucket >= ? AND f.bucket < ?) ORDER BY f.seq LIMIT ?) k CROSS JOIN "shop"."outbox" o ON o.seq = k.seq ORDER BY k.seq
--   1048576
--   -9223372036854775808
--   1603
--   0
--   512
--   640
--   768
--   501

-- fetch the whole table by seq
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, length(CAST(o.payload AS BLOB)), CASE WHEN length(CAST(o.payload AS BLOB)) <= ? THEN o.payload END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND length(CAST(o.aggregate_id AS BLOB)) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.seq > ? ORDER BY o.seq LIMIT ?) k CROSS JOIN "shop"."outbox" o ON o.seq = k.seq ORDER BY k.seq
--   1048576
--   -9223372036854775808
--   501

-- fetch in the order of the source
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, length(CAST(o.payload AS BLOB)), CASE WHEN length(CAST(o.payload AS BLOB)) <= ? THEN o.payload END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.seq > ? ORDER BY o.seq LIMIT ?) k CROSS JOIN "shop"."outbox" o ON o.seq = k.seq ORDER BY k.seq
--   1048576
--   -9223372036854775808
--   501

-- fetch without an order, dead letters not blocking
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, length(CAST(o.payload AS BLOB)), CASE WHEN length(CAST(o.payload AS BLOB)) <= ? THEN o.payload END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, CASE WHEN 1 = 0 THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? ORDER BY o.bucket, o.seq LIMIT ?) k CROSS JOIN "shop"."outbox" o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   0
--   1024
--   501

-- due
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, length(CAST(o.payload AS BLOB)), CASE WHEN length(CAST(o.payload AS BLOB)) <= ? THEN o.payload END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, 0 FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') AND (1 = 0 OR o.bucket >= ? AND o.bucket < ? OR o.bucket >= ? AND o.bucket < ?) AND (NOT length(CAST(o.aggregate_id AS BLOB)) > 0 OR (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1) = o.seq) ORDER BY o.next_attempt_at, o.seq LIMIT ?
--   1048576
--   0
--   16
--   64
--   80
--   10
SELECT COALESCE(-MAX(CAST(round((julianday('now') - julianday(n.due)) * 86400000) AS INTEGER)), -1) FROM (SELECT o.next_attempt_at AS due FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') AND (1 = 0 OR o.bucket >= ? AND o.bucket < ? OR o.bucket >= ? AND o.bucket < ?) ORDER BY o.next_attempt_at LIMIT 1) n
--   0
--   16
--   64
--   80

-- other
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, length(CAST(o.payload AS BLOB)), CASE WHEN length(CAST(o.payload AS BLOB)) <= ? THEN o.payload END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, 0 FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? AND NOT (o.aggregate_type = ? AND o.aggregate_id = ?) AND NOT (o.aggregate_type = ? AND o.aggregate_id = ?) AND NOT EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND length(CAST(o.aggregate_id AS BLOB)) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.bucket, o.seq LIMIT ?) k CROSS JOIN "shop"."outbox" o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   0
--   16
--   O
--   1
--   O
--   2
--   1

-- again
SELECT o.seq, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, length(CAST(o.payload AS BLOB)), CASE WHEN length(CAST(o.payload AS BLOB)) <= ? THEN o.payload END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.available_at)), CAST(o.available_at AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o.expires_at)), CAST(o.expires_at AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, 0 FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.seq IN (SELECT value FROM json_each(?)) AND o.state = 'PENDING' AND NOT EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND length(CAST(o.aggregate_id AS BLOB)) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k CROSS JOIN "shop"."outbox" o ON o.seq = k.seq ORDER BY k.bucket, k.seq
--   1048576
--   [1,2]

-- settle published
UPDATE "shop"."outbox" SET state = 'PUBLISHED', published_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), next_attempt_at = NULL WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('PENDING', 'FAILED') AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) >= ?
--   [1,2]
--   shop.outbox
--   me
--   1
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq IN (SELECT value FROM json_each(?)) AND o.state IN ('PENDING', 'FAILED')
--   [1,2]

-- settle everything else
BEGIN
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = ? AND c.unit IN (SELECT value FROM json_each(?)) AND c.owner = ? AND c.expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY c.unit
--   shop.outbox
--   ["p0"]
--   me
UPDATE "shop"."outbox" SET state = 'PUBLISHED', published_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), next_attempt_at = NULL WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('PENDING', 'FAILED')
--   [1,1]
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq IN (SELECT value FROM json_each(?)) AND o.state IN ('PENDING', 'FAILED')
--   [1,1]
UPDATE "shop"."outbox" AS o SET state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (f.pause) / 1000.0)) END FROM (SELECT json_extract(value, '$.seq') AS seq, json_extract(value, '$.attempts') AS attempts, json_extract(value, '$.pause') AS pause, json_extract(value, '$.dead') AS dead, json_extract(value, '$.reason') AS reason FROM json_each(?)) AS f WHERE o.seq = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED')
--   [{"seq":1,"attempts":2,"pause":5000,"dead":0,"reason":"refused"}]
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq IN (SELECT value FROM json_each(?)) AND EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND length(CAST(o.aggregate_id AS BLOB)) > 0 AND b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING')
--   [1]
UPDATE "shop"."outbox" SET state = 'WAITING' WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('PENDING')
--   [1]
SELECT a.typ, a.id, (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1), (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq LIMIT 1 OFFSET 4000) FROM (SELECT json_extract(value, '$.typ') AS typ, json_extract(value, '$.id') AS id FROM json_each(?)) AS a
--   [{"typ":"O","id":"1"}]
UPDATE "shop"."outbox" AS o SET state = 'PENDING' FROM (SELECT json_extract(value, '$.typ') AS typ, json_extract(value, '$.id') AS id, json_extract(value, '$.head') AS head FROM json_each(?)) AS h WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head AND o.aggregate_type = h.typ AND o.aggregate_id = h.id
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- settle what has a time
BEGIN
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = ? AND c.unit IN (SELECT value FROM json_each(?)) AND c.owner = ? AND c.expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY c.unit
--   shop.outbox
--   ["p0"]
--   me
UPDATE "shop"."outbox" AS o SET state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (f.pause) / 1000.0)) END FROM (SELECT json_extract(value, '$.seq') AS seq, json_extract(value, '$.attempts') AS attempts, json_extract(value, '$.pause') AS pause, json_extract(value, '$.dead') AS dead, json_extract(value, '$.reason') AS reason FROM json_each(?)) AS f WHERE o.seq = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED')
--   [{"seq":1,"attempts":0,"pause":3600000,"dead":0,"reason":"later"}]
UPDATE "shop"."outbox" SET state = 'PENDING', next_attempt_at = NULL, last_error = NULL WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('FAILED')
--   [1]
UPDATE "shop"."outbox" SET state = 'DISCARDED', published_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), next_attempt_at = NULL, last_error = 'expired' WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('PENDING', 'FAILED')
--   [1]
SELECT a.typ, a.id, (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1), (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq LIMIT 1 OFFSET 2000) FROM (SELECT json_extract(value, '$.typ') AS typ, json_extract(value, '$.id') AS id FROM json_each(?)) AS a
--   [{"typ":"O","id":"1"},{"typ":"O","id":"1"}]
UPDATE "shop"."outbox" AS o SET state = 'PENDING' FROM (SELECT json_extract(value, '$.typ') AS typ, json_extract(value, '$.id') AS id, json_extract(value, '$.head') AS head FROM json_each(?)) AS h WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head AND o.aggregate_type = h.typ AND o.aggregate_id = h.id
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- settle a retry in the order of the source
BEGIN
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = ? AND c.unit IN (SELECT value FROM json_each(?)) AND c.owner = ? AND c.expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY c.unit
--   shop.outbox
--   ["p0"]
--   me
UPDATE "shop"."outbox" SET state = 'PUBLISHED', published_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), next_attempt_at = NULL WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('PENDING', 'FAILED')
--   [1]
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq IN (SELECT value FROM json_each(?)) AND EXISTS (SELECT 1 FROM "shop"."outbox" b WHERE b.seq < o.seq AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING')
--   [1]
UPDATE "shop"."outbox" SET state = 'WAITING' WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('PENDING')
--   [1]
SELECT a.typ, a.id, (SELECT b.seq FROM "shop"."outbox" b WHERE 1 = 1 AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1), (SELECT b.seq FROM "shop"."outbox" b WHERE 1 = 1 AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq LIMIT 1 OFFSET 4000) FROM (SELECT json_extract(value, '$.typ') AS typ, json_extract(value, '$.id') AS id FROM json_each(?)) AS a
--   [{"typ":"","id":""}]
UPDATE "shop"."outbox" AS o SET state = 'PENDING' FROM (SELECT json_extract(value, '$.typ') AS typ, json_extract(value, '$.id') AS id, json_extract(value, '$.head') AS head FROM json_each(?)) AS h WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- mend
SELECT DISTINCT o.aggregate_type, o.aggregate_id FROM "shop"."outbox" o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING'
SELECT a.typ, a.id, (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.seq LIMIT 1), (SELECT b.seq FROM "shop"."outbox" b WHERE b.aggregate_type = a.typ AND b.aggregate_id = a.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.seq LIMIT 1 OFFSET 4000) FROM (SELECT json_extract(value, '$.typ') AS typ, json_extract(value, '$.id') AS id FROM json_each(?)) AS a
--   [{"typ":"O","id":"1"}]
UPDATE "shop"."outbox" AS o SET state = 'PENDING' FROM (SELECT json_extract(value, '$.typ') AS typ, json_extract(value, '$.id') AS id, json_extract(value, '$.head') AS head FROM json_each(?)) AS h WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.seq < h.head AND o.aggregate_type = h.typ AND o.aggregate_id = h.id
--   [{"typ":"O","id":"1","head":9}]

-- work
SELECT bucket FROM (SELECT o.bucket FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY o.next_attempt_at LIMIT 1000) n UNION ALL SELECT bucket FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= 0 AND o.bucket < 512 ORDER BY o.bucket, o.seq LIMIT 1) r0 UNION ALL SELECT bucket FROM (SELECT o.bucket, o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= 512 AND o.bucket < 1024 ORDER BY o.bucket, o.seq LIMIT 1) r1

-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state = 'PENDING' ORDER BY o.bucket, o.seq LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY o.next_attempt_at LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state = 'FAILED' AND NOT (o.retry_count = 0 AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) ORDER BY o.next_attempt_at LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' ORDER BY o.aggregate_type, o.aggregate_id, o.seq LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'DEAD LETTER' ORDER BY o.aggregate_type, o.aggregate_id, o.seq LIMIT ?) n), (SELECT a.created_at FROM "shop"."outbox" a WHERE a.seq = (SELECT MIN(h.seq) FROM (SELECT (SELECT o.seq FROM "shop"."outbox" o WHERE o.state = 'PENDING' AND o.bucket >= r.b AND o.bucket <= r.b ORDER BY o.bucket, o.seq LIMIT 1) AS seq FROM (SELECT json_extract(value, '$.b') AS b FROM json_each(?)) AS r) h)), strftime('%Y-%m-%d %H:%M:%f', 'now')
--   100001
--   100001
--   100001
--   100001
--   100001
--   [{"b":0},{"b":1},{"b":2},{"b":3},{"b":4},{"b":5},{"b":6},{"b":7},{"b":8},{"b":9},{"b":10},{"b":11},{

