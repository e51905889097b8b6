-- look
SELECT (SELECT COALESCE(c.info, '') FROM "shop"."rowrelay_claims" c WHERE c.outbox = ?1 AND c.unit = 'pause'), CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.event = CAST(o."Id" AS TEXT))) THEN 1 WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?3 AND s.state = 'FAILED' AND s.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') AND 1 = 1) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.state IN ('FAILED', 'DEAD LETTER')) THEN 1 ELSE 0 END
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o."Id" AS TEXT), '', '', NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= 4194304 THEN o."Body" END, CAST(o."Added" AS TEXT), NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT)) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?2
--   shop.outbox
--   501
-- a probe
SELECT CAST(o."Id" AS TEXT), '', '', NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= 4194304 THEN o."Body" END, CAST(o."Added" AS TEXT), NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE NOT ('' = ?1 AND '' = ?2) AND NOT ('' = ?3 AND '' = ?4) AND o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?5 AND s.event = CAST(o."Id" AS TEXT)) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?6
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   1
-- again
SELECT CAST(o."Id" AS TEXT), '', '', NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= 4194304 THEN o."Body" END, CAST(o."Added" AS TEXT), NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE o."Id" IN (?1) AND o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.event = CAST(o."Id" AS TEXT)) ORDER BY o."Added", CAST(o."Id" AS TEXT)
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- when is the next due
SELECT MIN(-(CAST(round((julianday('now') - julianday(s.next_attempt_at)) * 86400000) AS INTEGER))) FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.state = 'FAILED' AND 1 = 1
--   shop.outbox
-- due ids
SELECT s.event, s.attempts FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.state = 'FAILED' AND s.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') AND 1 = 1 ORDER BY s.position, s.event LIMIT ?2
--   shop.outbox
--   100
-- rows by id
SELECT CAST(o."Id" AS TEXT), '', '', NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= 4194304 THEN o."Body" END, CAST(o."Added" AS TEXT), NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE o."Status" = 'New' AND o."Id" IN (?1) ORDER BY o."Added", CAST(o."Id" AS TEXT)
--   0b5ab1a0-0000-4000-8000-000000000001
-- mark
UPDATE "shop"."outbox" SET "Status" = 'Sent', "Sent" = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE "shop"."outbox"."Id" IN (?1) AND "shop"."outbox"."Status" = 'New' AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = ?2 AND owner = ?3 AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) >= ?4
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   me
--   1
-- forget
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ?1 AND event IN (?2)
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
-- failed again
UPDATE "shop"."rowrelay_claims_events" SET state = ?1, attempts = ?2, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?3) / 1000.0)), last_error = ?4 WHERE outbox = ?5 AND event = ?6 AND state = 'FAILED' AND attempts IN (?7, ?8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
-- failed for the first time
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?1, CAST(o."Id" AS TEXT), '', '', CAST(o."Added" AS TEXT), ?2, 2, strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?3) / 1000.0)), ?4 FROM "shop"."outbox" o WHERE o."Id" = ?5 AND o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.event = CAST(o."Id" AS TEXT))
--   shop.outbox
--   FAILED
--   5000
--   422
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- given up
UPDATE "shop"."rowrelay_claims_events" SET state = ?1, attempts = ?2, next_attempt_at = NULL, last_error = ?3 WHERE outbox = ?4 AND event = ?5 AND state = 'FAILED' AND attempts IN (?6, ?7)
--   DEAD LETTER
--   5
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   4
--   5
-- entries
SELECT s.event FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event > ?2 ORDER BY s.event LIMIT ?3
--   shop.outbox
--   
--   1000
-- still pending
SELECT CAST(o."Id" AS TEXT) FROM "shop"."outbox" o WHERE o."Status" = 'New' AND o."Id" IN (?1)
--   0b5ab1a0-0000-4000-8000-000000000001
-- count pending
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT)) LIMIT ?2) counted
--   shop.outbox
--   100000
-- count waiting
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o."Status" = 'New' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT)) AND 1 = 0 LIMIT ?2) counted
--   shop.outbox
--   100000
-- count failed
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.state = ?2 LIMIT ?3) counted
--   shop.outbox
--   FAILED
--   100000
-- list
SELECT CAST(o."Id" AS TEXT), '', '', NULL, NULL, CASE WHEN NOT (o."Status" = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT) WHERE (1 = 0 OR o."Status" = 'New' AND s.state IS NULL AND 1 = 1 OR o."Status" = 'New' AND s.state IS NULL AND 1 = 0 OR o."Status" = 'New' AND s.state = 'FAILED' OR o."Status" = 'Sent') AND (1 = 0 OR o."Id" = ?2 OR o."Id" = ?3 OR o."Id" = ?4 OR o."Id" = ?5 OR o."Id" = ?6 OR o."Id" = ?7) AND '' = ?8 AND '' = ?9 AND NULL = ?10 AND o."Added" <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?11 / 1000.0)) AND o."Added" > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?12 / 1000.0)) AND o."Added" >= ?13 AND (o."Added" > ?14 OR CAST(o."Id" AS TEXT) > ?15) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?16
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
SELECT CAST(o."Id" AS TEXT), '', '', NULL, NULL, CASE WHEN NOT (o."Status" = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT) WHERE (o."Status" = 'New' OR o."Status" = 'Sent') ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?2
--   shop.outbox
--   1000
-- list dead letters: ids
SELECT s.event, s.position FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.state IN ('DEAD LETTER') AND (s.position > ?2 OR (s.position = ?3 AND s.event > ?4)) ORDER BY s.position, s.event LIMIT ?5
--   shop.outbox
--   1
--   1
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list dead letters
SELECT CAST(o."Id" AS TEXT), '', '', NULL, NULL, CASE WHEN NOT (o."Status" = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT) WHERE (1 = 0 OR o."Status" = 'New' AND s.state = 'DEAD LETTER') AND o."Id" IN (?2) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?3
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- requeue
UPDATE "shop"."rowrelay_claims_events" SET state = 'FAILED', attempts = 0, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE outbox = ?1 AND state IN ('DEAD LETTER', 'FAILED') AND event IN (SELECT value FROM json_each(?2))
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- discard
UPDATE "shop"."rowrelay_claims_events" SET state = 'DISCARDED', next_attempt_at = NULL, last_error = ?1 WHERE outbox = ?2 AND state IN ('DEAD LETTER', 'FAILED') AND event IN (SELECT value FROM json_each(?3))
--   by ann
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- discard waiting
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, last_error) SELECT ?1, CAST(o."Id" AS TEXT), '', '', CAST(o."Added" AS TEXT), 'DISCARDED', 0, ?2 FROM "shop"."outbox" o WHERE o."Status" = 'New' AND o."Id" IN (?3) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.event = CAST(o."Id" AS TEXT))
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- clean-up looks
SELECT CAST(o."Id" AS TEXT), CAST(o."Added" AS TEXT), CASE WHEN o."Status" = 'Sent' AND o."Sent" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?1 / 1000.0)) THEN 1 ELSE 0 END, CASE WHEN o."Status" = 'Sent' AND o."Sent" >= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?2 / 1000.0)) THEN 1 ELSE 0 END FROM "shop"."outbox" o WHERE 1 = 1 AND o."Added" >= ?3 AND (o."Added" > ?4 OR CAST(o."Id" AS TEXT) > ?5) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?6
--   3600000
--   3600000
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- clean-up deletes
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Id" IN (?1) AND "shop"."outbox"."Status" = 'Sent' AND "shop"."outbox"."Sent" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?2 / 1000.0))
--   0b5ab1a0-0000-4000-8000-000000000001
--   3600000
