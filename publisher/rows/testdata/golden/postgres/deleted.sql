-- look
SELECT COALESCE((SELECT 1 FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $2 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT 1), (SELECT 1 FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = $3 AND o.state IN ('FAILED') AND o.next_attempt_at <= statement_timestamp() LIMIT 1), 0), COALESCE((SELECT 1 FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = $4 AND 1 = 1 LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM "shop"."rowrelay_claims" p WHERE p.outbox = $5 AND p.unit = 'pause'), (SELECT n.info FROM "shop"."rowrelay_claims" n WHERE n.outbox = $6 AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o."Id" AS text) COLLATE "C", 0, '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C", 0, NULL, NULL, COALESCE(octet_length(o."Body"), 0), CASE WHEN COALESCE(octet_length(o."Body"), 0) <= $1 THEN o."Body" END, COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C", COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C", CASE WHEN COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C" IS NOT NULL OR COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C" IS NOT NULL THEN statement_timestamp() END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $2 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $3 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o."Added", o."Id" LIMIT $4) k JOIN LATERAL (SELECT "Id", "Key", "Added", "Sent", "Body" FROM "shop"."outbox" o WHERE o."Id" = k."Id" LIMIT 1) o ON true ORDER BY o."Added", o."Id"
--   4194304
--   shop.outbox
--   shop.outbox
--   501
-- others
SELECT CAST(o."Id" AS text) COLLATE "C", 0, '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C", 0, NULL, NULL, COALESCE(octet_length(o."Body"), 0), CASE WHEN COALESCE(octet_length(o."Body"), 0) <= $1 THEN o."Body" END, COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C", COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C", CASE WHEN COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C" IS NOT NULL OR COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C" IS NOT NULL THEN statement_timestamp() END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE 1 = 1 AND NOT ('' = $2 AND COALESCE(CAST(o."Key" AS text) COLLATE "C", '') = $3) AND NOT ('' = $4 AND COALESCE(CAST(o."Key" AS text) COLLATE "C", '') = $5) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $6 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $7 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o."Added", o."Id" LIMIT $8) k JOIN LATERAL (SELECT "Id", "Key", "Added", "Sent", "Body" FROM "shop"."outbox" o WHERE o."Id" = k."Id" LIMIT 1) o ON true ORDER BY o."Added", o."Id"
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o."Id" AS text) COLLATE "C", 0, '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C", 0, NULL, NULL, COALESCE(octet_length(o."Body"), 0), CASE WHEN COALESCE(octet_length(o."Body"), 0) <= $1 THEN o."Body" END, COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C", COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C", CASE WHEN COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C" IS NOT NULL OR COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C" IS NOT NULL THEN statement_timestamp() END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE o."Id" IN (CAST(CAST($2 AS text) AS uuid)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $3 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $4 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k JOIN LATERAL (SELECT "Id", "Key", "Added", "Sent", "Body" FROM "shop"."outbox" o WHERE o."Id" = k."Id" LIMIT 1) o ON true ORDER BY o."Added", o."Id"
--   4194304
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = $1 AND o.state = 'FAILED' AND o.next_attempt_at <= statement_timestamp() AND (NOT octet_length(o.aggregate_id) > 0 OR (SELECT b.event FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $2 AND b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.position, b.event LIMIT 1) = o.event) ORDER BY o.next_attempt_at, o.position, o.event LIMIT $3
--   shop.outbox
--   shop.outbox
--   100
SELECT CAST(o."Id" AS text) COLLATE "C", 0, '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C", 0, NULL, NULL, COALESCE(octet_length(o."Body"), 0), CASE WHEN COALESCE(octet_length(o."Body"), 0) <= $1 THEN o."Body" END, COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C", COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C", CASE WHEN COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C" IS NOT NULL OR COALESCE(to_char((o."Sent" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Sent" AT TIME ZONE 'UTC') AS text)) COLLATE "C" IS NOT NULL THEN statement_timestamp() END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE o."Id" IN (CAST(CAST($2 AS text) AS uuid)) AND 1 = 1 AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $3 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1)) k JOIN LATERAL (SELECT "Id", "Key", "Added", "Sent", "Body" FROM "shop"."outbox" o WHERE o."Id" = k."Id" LIMIT 1) o ON true ORDER BY o."Added", o."Id"
--   4194304
--   7
--   shop.outbox
SELECT COALESCE(-MAX(CAST(EXTRACT(EPOCH FROM (statement_timestamp() - n.due)) * 1000 AS bigint)), -1) FROM (SELECT o.next_attempt_at AS due FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = $1 AND o.state = 'FAILED' AND o.next_attempt_at > statement_timestamp() ORDER BY o.next_attempt_at LIMIT 1) n
--   shop.outbox
-- settle published
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Id" IN (CAST(CAST($1 AS text) AS uuid)) AND 1 = 1 AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = $2 AND owner = $3 AND unit NOT LIKE 'i:%' AND expires_at > statement_timestamp()) >= $4
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   me
--   1
-- settle everything else
BEGIN
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND owner = $2 AND unit NOT LIKE 'i:%' AND expires_at > statement_timestamp()
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = $1 AND c.unit = ANY(CAST($2 AS text[])) AND c.owner = $3 AND c.expires_at > statement_timestamp() ORDER BY c.unit FOR UPDATE OF c
--   shop.outbox
--   [p0]
--   me
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Id" IN (CAST(CAST($1 AS text) AS uuid)) AND 1 = 1
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = $1 AND event = ANY(CAST($2 AS text[]))
--   shop.outbox
--   [0b5ab1a0-0000-4000-8000-000000000001]
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = $1 AND event = ANY(CAST($2 AS text[])) AND NOT EXISTS (SELECT 1 FROM "shop"."outbox" o WHERE o."Id" IN (CAST(CAST($3 AS text) AS uuid)) AND 1 = 1 AND CAST(o."Id" AS text) COLLATE "C" = "shop"."rowrelay_claims_events".event AND CASE WHEN "shop"."rowrelay_claims_events".aggregate_type = '' AND "shop"."rowrelay_claims_events".aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND "shop"."rowrelay_claims_events".position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   [0b5ab1a0-0000-4000-8000-000000000001]
--   0b5ab1a0-0000-4000-8000-000000000001
UPDATE "shop"."rowrelay_claims_events" SET state = $1, attempts = $2, next_attempt_at = statement_timestamp() + CAST($3 AS bigint) * interval '1 millisecond', last_error = $4 WHERE outbox = $5 AND event = $6 AND state = 'FAILED' AND attempts IN ($7, $8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
COMMIT
-- settle what has a time
BEGIN
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = $1 AND owner = $2 AND unit NOT LIKE 'i:%' AND expires_at > statement_timestamp()
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = $1 AND c.unit = ANY(CAST($2 AS text[])) AND c.owner = $3 AND c.expires_at > statement_timestamp() ORDER BY c.unit FOR UPDATE OF c
--   shop.outbox
--   [p0]
--   me
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Id" IN (CAST(CAST($1 AS text) AS uuid)) AND 1 = 1
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = $1 AND event = ANY(CAST($2 AS text[]))
--   shop.outbox
--   [0b5ab1a0-0000-4000-8000-000000000001 0b5ab1a0-0000-4000-8000-000000000001]
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = $1 AND event = ANY(CAST($2 AS text[])) AND NOT EXISTS (SELECT 1 FROM "shop"."outbox" o WHERE o."Id" IN (CAST(CAST($3 AS text) AS uuid)) AND 1 = 1 AND CAST(o."Id" AS text) COLLATE "C" = "shop"."rowrelay_claims_events".event AND CASE WHEN "shop"."rowrelay_claims_events".aggregate_type = '' AND "shop"."rowrelay_claims_events".aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND "shop"."rowrelay_claims_events".position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   [0b5ab1a0-0000-4000-8000-000000000001]
--   0b5ab1a0-0000-4000-8000-000000000001
UPDATE "shop"."rowrelay_claims_events" SET state = $1, attempts = $2, next_attempt_at = statement_timestamp() + CAST($3 AS bigint) * interval '1 millisecond', last_error = $4 WHERE outbox = $5 AND event = $6 AND state = 'FAILED' AND attempts IN ($7, $8)
--   FAILED
--   0
--   3600000
--   later
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   -1
--   0
COMMIT
-- mend
BEGIN
SELECT o.event, o.aggregate_type, o.aggregate_id, o.position FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = $1 AND o.event > $2 ORDER BY o.event LIMIT $3
--   shop.outbox
--   
--   1000
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $1 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $2 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT $3) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = $4 AND o.state IN ('FAILED') AND o.attempts = 0 AND o.next_attempt_at > statement_timestamp() LIMIT $5) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = $6 AND o.state IN ('FAILED') AND NOT (o.attempts = 0 AND o.next_attempt_at > statement_timestamp()) LIMIT $7) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $8 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $9 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT $10) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = $11 AND o.state IN ('DEAD LETTER') LIMIT $12) n), (SELECT COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $13 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $14 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o."Added", o."Id" LIMIT 1), statement_timestamp()
--   shop.outbox
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   shop.outbox
-- failed for the first time
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT $1, CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, ''), COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C", $2, 2, statement_timestamp() + CAST($3 AS bigint) * interval '1 millisecond', $4 FROM "shop"."outbox" o WHERE o."Id" IN (CAST(CAST($5 AS text) AS uuid)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $6 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   FAILED
--   5000
--   422
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- given up
UPDATE "shop"."rowrelay_claims_events" SET state = $1, attempts = $2, next_attempt_at = NULL, last_error = $3 WHERE outbox = $4 AND event = $5 AND state = 'FAILED' AND attempts IN ($6, $7)
--   DEAD LETTER
--   2
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
-- list
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > statement_timestamp() THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $1 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C", s.next_attempt_at, s.last_error, COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = $2 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1 WHERE (1 = 0 OR 1 = 1 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $3 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR 1 = 1 AND s.state IS NULL AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $4 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR 1 = 1 AND s.state IN ('FAILED') AND NOT (s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > statement_timestamp()) OR 1 = 0) AND (1 = 0 OR o."Id" = CAST(CAST($5 AS text) AS uuid) OR o."Id" = CAST(CAST($6 AS text) AS uuid)) AND '' = $7 AND COALESCE(CAST(o."Key" AS text) COLLATE "C", '') = $8 AND NULL = $9 AND o."Added" <= (now() - CAST($10 AS bigint) * interval '1 millisecond') AND o."Added" > (now() - CAST($11 AS bigint) * interval '1 millisecond') AND o."Added" >= (CAST(CAST($12 AS text) AS timestamp) AT TIME ZONE 'UTC') AND (o."Added" > (CAST(CAST($13 AS text) AS timestamp) AT TIME ZONE 'UTC') OR o."Id" > CAST(CAST($14 AS text) AS uuid)) ORDER BY o."Added", o."Id" LIMIT $15
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
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > statement_timestamp() THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $1 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C", s.next_attempt_at, s.last_error, COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = $2 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1 WHERE (1 = 1 OR 1 = 0) ORDER BY o."Added", o."Id" LIMIT $3
--   shop.outbox
--   shop.outbox
--   1000
-- list dead letters: keys
SELECT o.event, o.position FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = $1 AND o.state IN ('DEAD LETTER') AND (o.position > $2 OR (o.position = $3 AND o.event > $4)) ORDER BY o.position, o.event LIMIT $5
--   shop.outbox
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list dead letters
SELECT CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CAST(o."Key" AS text) COLLATE "C", ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > statement_timestamp() THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = $1 AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND octet_length(b.aggregate_id) > 0 AND (b.position < COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" OR b.position = COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" AND b.event < CAST(o."Id" AS text) COLLATE "C") AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C", s.next_attempt_at, s.last_error, COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C" FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = $2 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1 WHERE 1 = 1 AND (1 = 0 OR 1 = 1 AND s.state IN ('DEAD LETTER')) AND o."Id" IN (CAST(CAST($3 AS text) AS uuid)) ORDER BY o."Added", o."Id" LIMIT $4
--   shop.outbox
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- requeue
UPDATE "shop"."rowrelay_claims_events" SET state = 'FAILED', attempts = 0, next_attempt_at = statement_timestamp() WHERE outbox = $1 AND event = ANY(CAST($2 AS text[])) AND state IN ('DEAD LETTER', 'FAILED')
--   shop.outbox
--   [0b5ab1a0-0000-4000-8000-000000000001]
-- discard
UPDATE "shop"."rowrelay_claims_events" SET state = 'DISCARDED', next_attempt_at = NULL, last_error = $1 WHERE outbox = $2 AND event = ANY(CAST($3 AS text[])) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   shop.outbox
--   [0b5ab1a0-0000-4000-8000-000000000001]
-- marks no row
DELETE FROM "shop"."outbox" WHERE 1 = 0 AND 1 = 1
-- discard waiting
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT $1, CAST(o."Id" AS text) COLLATE "C", '', COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, ''), COALESCE(to_char((o."Added" AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), CAST((o."Added" AT TIME ZONE 'UTC') AS text)) COLLATE "C", 'DISCARDED', 0, NULL, $2 FROM "shop"."outbox" o WHERE o."Id" IN (CAST(CAST($3 AS text) AS uuid)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = $4 AND s.event = CAST(o."Id" AS text) COLLATE "C" AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CASE WHEN length(CAST(o."Key" AS text) COLLATE "C") <= 255 THEN CAST(o."Key" AS text) COLLATE "C" ELSE left(CAST(o."Key" AS text) COLLATE "C", 191) || encode(sha256(convert_to(CAST(o."Key" AS text) COLLATE "C", 'UTF8')), 'hex') END, '') AND s.position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
