-- look
SELECT COALESCE((SELECT 1 FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT)) LIMIT 1), (SELECT 1 FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?2 AND o.state = 'FAILED' AND o.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') LIMIT 1), 0), COALESCE((SELECT 1 FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?3 AND 1 = 1 AND o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state <> 'WAITING' LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM "shop"."rowrelay_claims" p WHERE p.outbox = ?4 AND p.unit = 'pause'), (SELECT n.info FROM "shop"."rowrelay_claims" n WHERE n.outbox = ?5 AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o."Id" AS TEXT), 0, '', '', NULL, NULL, CAST(o."Added" AS TEXT), 0, NULL, NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= ?1 THEN o."Body" END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.event = CAST(o."Id" AS TEXT)) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?3) k JOIN "shop"."outbox" o ON o."Id" = k."Id" ORDER BY o."Added", CAST(o."Id" AS TEXT)
--   4194304
--   shop.outbox
--   501
-- others
SELECT CAST(o."Id" AS TEXT), 0, '', '', NULL, NULL, CAST(o."Added" AS TEXT), 0, NULL, NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= ?1 THEN o."Body" END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT ('' = ?2 AND '' = ?3) AND NOT ('' = ?4 AND '' = ?5) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.event = CAST(o."Id" AS TEXT)) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?7) k JOIN "shop"."outbox" o ON o."Id" = k."Id" ORDER BY o."Added", CAST(o."Id" AS TEXT)
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   1
-- again
SELECT CAST(o."Id" AS TEXT), 0, '', '', NULL, NULL, CAST(o."Added" AS TEXT), 0, NULL, NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= ?1 THEN o."Body" END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE o."Id" IN (?2) AND o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?3 AND s.event = CAST(o."Id" AS TEXT))) k JOIN "shop"."outbox" o ON o."Id" = k."Id" ORDER BY o."Added", CAST(o."Id" AS TEXT)
--   4194304
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?1 AND o.state = 'FAILED' AND o.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY o.next_attempt_at, o.position, o.event LIMIT ?2
--   shop.outbox
--   100
SELECT CAST(o."Id" AS TEXT), 0, '', '', NULL, NULL, CAST(o."Added" AS TEXT), 0, NULL, NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= ?1 THEN o."Body" END, 0 FROM (SELECT o."Id" FROM "shop"."outbox" o WHERE o."Id" IN (?2) AND o."Status" = 'New') k JOIN "shop"."outbox" o ON o."Id" = k."Id" ORDER BY o."Added", CAST(o."Id" AS TEXT)
--   4194304
--   7
SELECT COALESCE(-MAX(CAST(round((julianday('now') - julianday(n.due)) * 86400000) AS INTEGER)), -1) FROM (SELECT o.next_attempt_at AS due FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?1 AND o.state = 'FAILED' AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY o.next_attempt_at LIMIT 1) n
--   shop.outbox
-- settle published
UPDATE "shop"."outbox" SET "Status" = 'Sent', "Sent" = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE "shop"."outbox"."Id" IN (?1) AND "shop"."outbox"."Status" = 'New' AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = ?2 AND owner = ?3 AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) >= ?4
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   me
--   1
-- settle everything else
BEGIN
SELECT unit FROM "shop"."rowrelay_claims" WHERE outbox = ?1 AND owner = ?2 AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')
--   shop.outbox
--   me
SELECT c.unit FROM "shop"."rowrelay_claims" AS c WHERE c.outbox = ?1 AND c.unit IN (SELECT value FROM json_each(?2)) AND c.owner = ?3 AND c.expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY c.unit
--   shop.outbox
--   ["p0"]
--   me
UPDATE "shop"."outbox" SET "Status" = 'Sent', "Sent" = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE "shop"."outbox"."Id" IN (?1) AND "shop"."outbox"."Status" = 'New'
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ?1 AND event IN (SELECT value FROM json_each(?2))
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
UPDATE "shop"."rowrelay_claims_events" SET state = ?1, attempts = ?2, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?3) / 1000.0)), last_error = ?4 WHERE outbox = ?5 AND event = ?6 AND state = 'FAILED' AND attempts IN (?7, ?8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
COMMIT
-- mend
BEGIN
SELECT o.event FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?1 AND o.event > ?2 ORDER BY o.event LIMIT ?3
--   shop.outbox
--   
--   1000
SELECT CAST(o."Id" AS TEXT) FROM "shop"."outbox" o WHERE o."Id" IN (?1) AND o."Status" = 'New'
--   7
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ?1 AND event IN (SELECT value FROM json_each(?2))
--   shop.outbox
--   ["7"]
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT)) LIMIT ?2) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?3 AND o.state = 'FAILED' LIMIT ?4) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?5 AND s.event = CAST(o."Id" AS TEXT)) AND 1 = 0 LIMIT ?6) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?7 AND o.state = 'DEAD LETTER' LIMIT ?8) n), (SELECT CAST(o."Added" AS TEXT) FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?9 AND s.event = CAST(o."Id" AS TEXT)) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT 1), strftime('%Y-%m-%d %H:%M:%f', 'now')
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
-- failed for the first time
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?1, CAST(o."Id" AS TEXT), '', '', CAST(o."Added" AS TEXT), ?2, 2, strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?3) / 1000.0)), ?4 FROM "shop"."outbox" o WHERE o."Id" IN (?5) AND o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.event = CAST(o."Id" AS TEXT))
--   shop.outbox
--   FAILED
--   5000
--   422
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- given up
UPDATE "shop"."rowrelay_claims_events" SET state = ?1, attempts = ?2, next_attempt_at = NULL, last_error = ?3 WHERE outbox = ?4 AND event = ?5 AND state = 'FAILED' AND attempts IN (?6, ?7)
--   DEAD LETTER
--   2
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
-- list
SELECT CAST(o."Id" AS TEXT), '', '', NULL, NULL, CASE WHEN NOT (o."Status" = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN 1 = 0 THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT) WHERE (1 = 0 OR o."Status" = 'New' AND s.state IS NULL AND NOT 1 = 0 OR o."Status" = 'New' AND s.state IS NULL AND 1 = 0 OR o."Status" = 'New' AND s.state = 'FAILED' OR o."Status" = 'Sent') AND (1 = 0 OR o."Id" = ?2 OR o."Id" = ?3 OR o."Id" = ?4 OR o."Id" = ?5 OR o."Id" = ?6 OR o."Id" = ?7) AND '' = ?8 AND '' = ?9 AND NULL = ?10 AND o."Added" <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?11 / 1000.0)) AND o."Added" > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?12 / 1000.0)) AND o."Added" >= ?13 AND (o."Added" > ?14 OR CAST(o."Id" AS TEXT) > ?15) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?16
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
SELECT CAST(o."Id" AS TEXT), '', '', NULL, NULL, CASE WHEN NOT (o."Status" = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN 1 = 0 THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT) WHERE (o."Status" = 'New' OR o."Status" = 'Sent') ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?2
--   shop.outbox
--   1000
-- list dead letters: keys
SELECT o.event, o.position FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?1 AND o.state IN ('DEAD LETTER') AND (o.position > ?2 OR (o.position = ?3 AND o.event > ?4)) ORDER BY o.position, o.event LIMIT ?5
--   shop.outbox
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list dead letters
SELECT CAST(o."Id" AS TEXT), '', '', NULL, NULL, CASE WHEN NOT (o."Status" = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN 1 = 0 THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT) WHERE (1 = 0 OR o."Status" = 'New' AND s.state = 'DEAD LETTER') AND o."Id" IN (?2) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?3
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- requeue
UPDATE "shop"."rowrelay_claims_events" SET state = 'FAILED', attempts = 0, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE outbox = ?1 AND event IN (SELECT value FROM json_each(?2)) AND state IN ('DEAD LETTER', 'FAILED')
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- discard
UPDATE "shop"."rowrelay_claims_events" SET state = 'DISCARDED', next_attempt_at = NULL, last_error = ?1 WHERE outbox = ?2 AND event IN (SELECT value FROM json_each(?3)) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- discard waiting
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?1, CAST(o."Id" AS TEXT), '', '', CAST(o."Added" AS TEXT), 'DISCARDED', 0, NULL, ?2 FROM "shop"."outbox" o WHERE o."Id" IN (?3) AND o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.event = CAST(o."Id" AS TEXT))
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- clean-up looks
SELECT CAST(o."Added" AS TEXT), CAST(o."Id" AS TEXT), CASE WHEN o."Status" = 'Sent' AND o."Sent" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?1 / 1000.0)) THEN 2 WHEN o."Status" = 'Sent' AND o."Sent" >= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?2 / 1000.0)) THEN 0 ELSE 1 END FROM "shop"."outbox" o WHERE o."Added" >= ?3 AND (o."Added" > ?4 OR CAST(o."Id" AS TEXT) > ?5) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?6
--   2592000000
--   2592000000
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- clean-up deletes
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Added" <= ?1 AND ("shop"."outbox"."Added" < ?2 OR CAST("shop"."outbox"."Id" AS TEXT) <= ?3) AND "shop"."outbox"."Status" = 'Sent' AND "shop"."outbox"."Sent" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?4 / 1000.0))
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   2592000000
-- clean-up deletes after a page
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Added" >= ?1 AND ("shop"."outbox"."Added" > ?2 OR CAST("shop"."outbox"."Id" AS TEXT) > ?3) AND "shop"."outbox"."Added" <= ?4 AND ("shop"."outbox"."Added" < ?5 OR CAST("shop"."outbox"."Id" AS TEXT) <= ?6) AND "shop"."outbox"."Status" = 'Sent' AND "shop"."outbox"."Sent" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?7 / 1000.0))
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   2592000000
