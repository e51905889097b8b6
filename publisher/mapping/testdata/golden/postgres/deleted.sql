-- look
SELECT (SELECT COALESCE(c.info, '') FROM "shop"."rowrelay_claims" c WHERE c.outbox = $1 AND c.unit = 'pause'), CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $2 AND s.event = CAST(o."Id" AS text) COLLATE "C") AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $3 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C")))) THEN 1 WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $4 AND s.state = 'FAILED' AND s.next_attempt_at <= statement_timestamp() AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" e WHERE e.outbox = $5 AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $6 AND s.state IN ('FAILED', 'DEAD LETTER')) THEN 1 ELSE 0 END
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, COALESCE(octet_length(o."Body"), 0), CASE WHEN COALESCE(octet_length(o."Body"), 0) <= 4194304 THEN o."Body" END, to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C", NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.event = CAST(o."Id" AS text) COLLATE "C") AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $2 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) ORDER BY o."Added", CAST(o."Id" AS text) COLLATE "C" LIMIT $3
--   shop.outbox
--   shop.outbox
--   501
-- a probe
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, COALESCE(octet_length(o."Body"), 0), CASE WHEN COALESCE(octet_length(o."Body"), 0) <= 4194304 THEN o."Body" END, to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C", NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE NOT ('' = $1 AND COALESCE(CAST(o."Key" AS text) COLLATE "C", '') = $2) AND NOT ('' = $3 AND COALESCE(CAST(o."Key" AS text) COLLATE "C", '') = $4) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $5 AND s.event = CAST(o."Id" AS text) COLLATE "C") AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $6 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) ORDER BY o."Added", CAST(o."Id" AS text) COLLATE "C" LIMIT $7
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, COALESCE(octet_length(o."Body"), 0), CASE WHEN COALESCE(octet_length(o."Body"), 0) <= 4194304 THEN o."Body" END, to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C", NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE o."Id" IN (CAST(CAST($1 AS text) AS uuid)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $2 AND s.event = CAST(o."Id" AS text) COLLATE "C") AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $3 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) ORDER BY o."Added", CAST(o."Id" AS text) COLLATE "C"
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   shop.outbox
-- when is the next due
SELECT MIN(-(CAST(EXTRACT(EPOCH FROM (statement_timestamp() - s.next_attempt_at)) * 1000 AS bigint))) FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.state = 'FAILED' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" e WHERE e.outbox = $2 AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))
--   shop.outbox
--   shop.outbox
-- due ids
SELECT s.event, s.attempts FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.state = 'FAILED' AND s.next_attempt_at <= statement_timestamp() AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" e WHERE e.outbox = $2 AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event))) ORDER BY s.position, s.event LIMIT $3
--   shop.outbox
--   shop.outbox
--   100
-- rows by id
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, COALESCE(octet_length(o."Body"), 0), CASE WHEN COALESCE(octet_length(o."Body"), 0) <= 4194304 THEN o."Body" END, to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C", NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE 1 = 1 AND o."Id" IN (CAST(CAST($1 AS text) AS uuid)) ORDER BY o."Added", CAST(o."Id" AS text) COLLATE "C"
--   0b5ab1a0-0000-4000-8000-000000000001
-- mark
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Id" IN (CAST(CAST($1 AS text) AS uuid)) AND 1 = 1 AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = $2 AND owner = $3 AND unit NOT LIKE 'i:%' AND expires_at > statement_timestamp()) >= $4
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   me
--   1
-- forget
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = $1 AND event IN ($2)
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
-- failed again
UPDATE "shop"."rowrelay_claims_events" SET state = $1, attempts = $2, next_attempt_at = statement_timestamp() + CAST($3 AS bigint) * interval '1 millisecond', last_error = $4 WHERE outbox = $5 AND event = $6 AND state = 'FAILED' AND attempts IN ($7, $8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
-- failed for the first time
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT $1, CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, ''), to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C", $2, 2, statement_timestamp() + CAST($3 AS bigint) * interval '1 millisecond', $4 FROM "shop"."outbox" o WHERE o."Id" = CAST(CAST($5 AS text) AS uuid) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $6 AND s.event = CAST(o."Id" AS text) COLLATE "C")
--   shop.outbox
--   FAILED
--   5000
--   422
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- given up
UPDATE "shop"."rowrelay_claims_events" SET state = $1, attempts = $2, next_attempt_at = NULL, last_error = $3 WHERE outbox = $4 AND event = $5 AND state = 'FAILED' AND attempts IN ($6, $7)
--   DEAD LETTER
--   5
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   4
--   5
-- entries
SELECT s.event FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.event > $2 ORDER BY s.event LIMIT $3
--   shop.outbox
--   
--   1000
-- still pending
SELECT CAST(o."Id" AS text) COLLATE "C" FROM "shop"."outbox" o WHERE 1 = 1 AND o."Id" IN (CAST(CAST($1 AS text) AS uuid))
--   0b5ab1a0-0000-4000-8000-000000000001
-- count pending
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.event = CAST(o."Id" AS text) COLLATE "C") AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $2 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) LIMIT $3) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count waiting
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.event = CAST(o."Id" AS text) COLLATE "C") AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $2 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) LIMIT $3) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count failed
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.state = $2 LIMIT $3) counted
--   shop.outbox
--   FAILED
--   100000
-- list
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C", to_char(s.next_attempt_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), s.last_error, to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = $2 AND s.event = CAST(o."Id" AS text) COLLATE "C" WHERE (1 = 0 OR 1 = 1 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $3 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) OR 1 = 1 AND s.state IS NULL AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $4 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) OR 1 = 1 AND s.state = 'FAILED' OR 1 = 0) AND (1 = 0 OR o."Id" = CAST(CAST($5 AS text) AS uuid) OR o."Id" = CAST(CAST($6 AS text) AS uuid)) AND '' = $7 AND COALESCE(CAST(o."Key" AS text) COLLATE "C", '') = $8 AND NULL = $9 AND o."Added" <= (now() - CAST($10 AS bigint) * interval '1 millisecond') AND o."Added" > (now() - CAST($11 AS bigint) * interval '1 millisecond') AND o."Added" >= (CAST(CAST($12 AS text) AS timestamp) AT TIME ZONE 'UTC') AND (o."Added" > (CAST(CAST($13 AS text) AS timestamp) AT TIME ZONE 'UTC') OR CAST(o."Id" AS text) COLLATE "C" > $14) ORDER BY o."Added", CAST(o."Id" AS text) COLLATE "C" LIMIT $15
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   0b5ab1a0-0000-4000-8000-000000000001
--   Order
--   42
--   OrderPlaced
--   3600000
--   3600000000
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list everything
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C", to_char(s.next_attempt_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), s.last_error, to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = $2 AND s.event = CAST(o."Id" AS text) COLLATE "C" WHERE (1 = 1 OR 1 = 0) ORDER BY o."Added", CAST(o."Id" AS text) COLLATE "C" LIMIT $3
--   shop.outbox
--   shop.outbox
--   1000
-- list dead letters: ids
SELECT s.event, s.position FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.state IN ('DEAD LETTER') AND (s.position > $2 OR (s.position = $3 AND s.event > $4)) ORDER BY s.position, s.event LIMIT $5
--   shop.outbox
--   1
--   1
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list dead letters
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" OR (s.position = to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" AND s.event < CAST(o."Id" AS text) COLLATE "C"))) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C", to_char(s.next_attempt_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), s.last_error, to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C" FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = $2 AND s.event = CAST(o."Id" AS text) COLLATE "C" WHERE (1 = 0 OR 1 = 1 AND s.state = 'DEAD LETTER') AND o."Id" IN (CAST(CAST($3 AS text) AS uuid)) ORDER BY o."Added", CAST(o."Id" AS text) COLLATE "C" LIMIT $4
--   shop.outbox
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- requeue
UPDATE "shop"."rowrelay_claims_events" SET state = 'FAILED', attempts = 0, next_attempt_at = statement_timestamp() WHERE outbox = $1 AND state IN ('DEAD LETTER', 'FAILED') AND event = ANY(CAST($2 AS text[]))
--   shop.outbox
--   [0b5ab1a0-0000-4000-8000-000000000001]
-- discard
UPDATE "shop"."rowrelay_claims_events" SET state = 'DISCARDED', next_attempt_at = NULL, last_error = $1 WHERE outbox = $2 AND state IN ('DEAD LETTER', 'FAILED') AND event = ANY(CAST($3 AS text[]))
--   by ann
--   shop.outbox
--   [0b5ab1a0-0000-4000-8000-000000000001]
-- discard waiting
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, last_error) SELECT $1, CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, ''), to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C", 'DISCARDED', 0, $2 FROM "shop"."outbox" o WHERE 1 = 1 AND o."Id" IN (CAST(CAST($3 AS text) AS uuid)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $4 AND s.event = CAST(o."Id" AS text) COLLATE "C")
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
