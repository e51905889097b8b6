-- look
SELECT COALESCE((SELECT 1 FROM "shop"."outbox" o INDEXED BY "pending" WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT 1), (SELECT 1 FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ? AND o.state IN ('FAILED') AND o.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') LIMIT 1), 0), COALESCE((SELECT 1 FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ? AND 1 = 1 LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM "shop"."rowrelay_claims" p WHERE p.outbox = ? AND p.unit = 'pause'), (SELECT n.info FROM "shop"."rowrelay_claims" n WHERE n.outbox = ? AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o."Id" AS TEXT), 0, '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CAST(o."Added" AS TEXT), 0, NULL, NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= ? THEN o."Body" END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o INDEXED BY "pending" WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o."Added", o."Id" LIMIT ?) k CROSS JOIN "shop"."outbox" o ON o."Id" = k."Id" ORDER BY o."Added", o."Id"
--   4194304
--   shop.outbox
--   shop.outbox
--   501
-- others
SELECT CAST(o."Id" AS TEXT), 0, '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CAST(o."Added" AS TEXT), 0, NULL, NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= ? THEN o."Body" END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o INDEXED BY "pending" WHERE 1 = 1 AND NOT ('' = ? AND COALESCE(CAST(o."Key" AS TEXT), '') = ?) AND NOT ('' = ? AND COALESCE(CAST(o."Key" AS TEXT), '') = ?) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o."Added", o."Id" LIMIT ?) k CROSS JOIN "shop"."outbox" o ON o."Id" = k."Id" ORDER BY o."Added", o."Id"
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o."Id" AS TEXT), 0, '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CAST(o."Added" AS TEXT), 0, NULL, NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= ? THEN o."Body" END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE o."Id" IN (?) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k CROSS JOIN "shop"."outbox" o ON o."Id" = k."Id" ORDER BY o."Added", o."Id"
--   4194304
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') AND (NOT length(CAST(o.aggregate_id AS BLOB)) > 0 OR (SELECT b.event FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.position, b.event LIMIT 1) = o.event) ORDER BY o.next_attempt_at, o.position, o.event LIMIT ?
--   shop.outbox
--   shop.outbox
--   100
SELECT CAST(o."Id" AS TEXT), 0, '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CAST(o."Added" AS TEXT), 0, NULL, NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= ? THEN o."Body" END, COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)), COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)), CASE WHEN COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)) IS NOT NULL OR COALESCE(strftime('%Y-%m-%d %H:%M:%f', julianday(o."Sent")), CAST(o."Sent" AS TEXT)) IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%f', 'now') END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE o."Id" IN (?) AND 1 = 1 AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1)) k CROSS JOIN "shop"."outbox" o ON o."Id" = k."Id" ORDER BY o."Added", o."Id"
--   4194304
--   7
--   shop.outbox
SELECT COALESCE(-MAX(CAST(round((julianday('now') - julianday(n.due)) * 86400000) AS INTEGER)), -1) FROM (SELECT o.next_attempt_at AS due FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY o.next_attempt_at LIMIT 1) n
--   shop.outbox
-- settle published
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Id" IN (?) AND 1 = 1 AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) >= ?
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   me
--   1
-- settle everything else
BEGIN
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = ? AND c.unit IN (SELECT value FROM json_each(?)) AND c.owner = ? AND c.expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY c.unit
--   shop.outbox
--   ["p0"]
--   me
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Id" IN (?) AND 1 = 1
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ? AND event IN (SELECT value FROM json_each(?))
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ? AND event IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM "shop"."outbox" o WHERE o."Id" IN (?) AND 1 = 1 AND CAST(o."Id" AS TEXT) = "shop"."rowrelay_claims_events".event AND CASE WHEN "shop"."rowrelay_claims_events".aggregate_type = '' AND "shop"."rowrelay_claims_events".aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND "shop"."rowrelay_claims_events".position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
--   0b5ab1a0-0000-4000-8000-000000000001
UPDATE "shop"."rowrelay_claims_events" SET state = ?, attempts = ?, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / 1000.0)), last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
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
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = ? AND c.unit IN (SELECT value FROM json_each(?)) AND c.owner = ? AND c.expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY c.unit
--   shop.outbox
--   ["p0"]
--   me
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Id" IN (?) AND 1 = 1
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ? AND event IN (SELECT value FROM json_each(?))
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001","0b5ab1a0-0000-4000-8000-000000000001"]
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ? AND event IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM "shop"."outbox" o WHERE o."Id" IN (?) AND 1 = 1 AND CAST(o."Id" AS TEXT) = "shop"."rowrelay_claims_events".event AND CASE WHEN "shop"."rowrelay_claims_events".aggregate_type = '' AND "shop"."rowrelay_claims_events".aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND "shop"."rowrelay_claims_events".position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
--   0b5ab1a0-0000-4000-8000-000000000001
UPDATE "shop"."rowrelay_claims_events" SET state = ?, attempts = ?, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / 1000.0)), last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
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
SELECT o.event, o.aggregate_type, o.aggregate_id, o.position FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ? AND o.event > ? ORDER BY o.event LIMIT ?
--   shop.outbox
--   
--   1000
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o INDEXED BY "pending" WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ? AND o.state IN ('FAILED') AND o.attempts = 0 AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ? AND o.state IN ('FAILED') AND NOT (o.attempts = 0 AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o INDEXED BY "pending" WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ? AND o.state IN ('DEAD LETTER') LIMIT ?) n), (SELECT CAST(o."Added" AS TEXT) FROM "shop"."outbox" o INDEXED BY "pending" WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o."Added", o."Id" LIMIT 1), strftime('%Y-%m-%d %H:%M:%f', 'now')
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
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), CAST(o."Added" AS TEXT), ?, 2, strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / 1000.0)), ? FROM "shop"."outbox" o WHERE o."Id" IN (?) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   FAILED
--   5000
--   422
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- given up
UPDATE "shop"."rowrelay_claims_events" SET state = ?, attempts = ?, next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   DEAD LETTER
--   2
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
-- list
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1 WHERE (1 = 0 OR 1 = 1 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR 1 = 1 AND s.state IS NULL AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR 1 = 1 AND s.state IN ('FAILED') AND NOT (s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) OR 1 = 0) AND (1 = 0 OR o."Id" = ? OR o."Id" = ? OR o."Id" = ? OR o."Id" = ? OR o."Id" = ? OR o."Id" = ?) AND '' = ? AND COALESCE(CAST(o."Key" AS TEXT), '') = ? AND NULL = ? AND o."Added" <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / -1000.0)) AND o."Added" > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / -1000.0)) AND o."Added" >= ? AND (o."Added" > ? OR o."Id" > ?) ORDER BY o."Added", o."Id" LIMIT ?
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   7
--   0b5ab1a0-0000-4000-8000-000000000001
--   0b5ab1a000004000
--   7
--   0b5ab1a0-0000-4000-8000-000000000001
--   0b5ab1a000004000
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
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1 WHERE (1 = 1 OR 1 = 0) ORDER BY o."Added", o."Id" LIMIT ?
--   shop.outbox
--   shop.outbox
--   1000
-- list dead letters: keys
SELECT o.event, o.position FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ? AND o.state IN ('DEAD LETTER') AND (o.position > ? OR (o.position = ? AND o.event > ?)) ORDER BY o.position, o.event LIMIT ?
--   shop.outbox
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list dead letters
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < CAST(o."Added" AS TEXT) OR b.position = CAST(o."Added" AS TEXT) AND b.event < CAST(o."Id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o INDEXED BY "pending" LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1 WHERE 1 = 1 AND (1 = 0 OR 1 = 1 AND s.state IN ('DEAD LETTER')) AND o."Id" IN (?) ORDER BY o."Added", o."Id" LIMIT ?
--   shop.outbox
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- requeue
UPDATE "shop"."rowrelay_claims_events" SET state = 'FAILED', attempts = 0, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE outbox = ? AND event IN (SELECT value FROM json_each(?)) AND state IN ('DEAD LETTER', 'FAILED')
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- discard
UPDATE "shop"."rowrelay_claims_events" SET state = 'DISCARDED', next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND event IN (SELECT value FROM json_each(?)) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- marks no row
DELETE FROM "shop"."outbox" WHERE 1 = 0 AND 1 = 1
-- discard waiting
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), CAST(o."Added" AS TEXT), 'DISCARDED', 0, NULL, ? FROM "shop"."outbox" o WHERE o."Id" IN (?) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ? AND s.event = CAST(o."Id" AS TEXT) AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
