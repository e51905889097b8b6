-- look
SELECT (SELECT COALESCE(c.info, '') FROM "shop"."rowrelay_claims" c WHERE c.outbox = ?1 AND c.unit = 'pause'), CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.event = CAST(o."Id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?3 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT))))) THEN 1 WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.state = 'FAILED' AND s.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" e WHERE e.outbox = ?5 AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.state IN ('FAILED', 'DEAD LETTER')) THEN 1 ELSE 0 END
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= 4194304 THEN o."Body" END, CAST(o."Added" AS TEXT), NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?3
--   shop.outbox
--   shop.outbox
--   501
-- a probe
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= 4194304 THEN o."Body" END, CAST(o."Added" AS TEXT), NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE NOT ('' = ?1 AND COALESCE(CAST(o."Key" AS TEXT), '') = ?2) AND NOT ('' = ?3 AND COALESCE(CAST(o."Key" AS TEXT), '') = ?4) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?5 AND s.event = CAST(o."Id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?7
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= 4194304 THEN o."Body" END, CAST(o."Added" AS TEXT), NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE o."Id" IN (?1) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.event = CAST(o."Id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?3 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) ORDER BY o."Added", CAST(o."Id" AS TEXT)
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   shop.outbox
-- when is the next due
SELECT MIN(-(CAST(round((julianday('now') - julianday(s.next_attempt_at)) * 86400000) AS INTEGER))) FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.state = 'FAILED' AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" e WHERE e.outbox = ?2 AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))
--   shop.outbox
--   shop.outbox
-- due ids
SELECT s.event, s.attempts FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.state = 'FAILED' AND s.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" e WHERE e.outbox = ?2 AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event))) ORDER BY s.position, s.event LIMIT ?3
--   shop.outbox
--   shop.outbox
--   100
-- rows by id
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, COALESCE(length(CAST(o."Body" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."Body" AS BLOB)), 0) <= 4194304 THEN o."Body" END, CAST(o."Added" AS TEXT), NULL, NULL, NULL, 0 FROM "shop"."outbox" o WHERE 1 = 1 AND o."Id" IN (?1) ORDER BY o."Added", CAST(o."Id" AS TEXT)
--   0b5ab1a0-0000-4000-8000-000000000001
-- mark
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."Id" IN (?1) AND 1 = 1 AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = ?2 AND owner = ?3 AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) >= ?4
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
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?1, CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), CAST(o."Added" AS TEXT), ?2, 2, strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?3) / 1000.0)), ?4 FROM "shop"."outbox" o WHERE o."Id" = ?5 AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.event = CAST(o."Id" AS TEXT))
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
SELECT CAST(o."Id" AS TEXT) FROM "shop"."outbox" o WHERE 1 = 1 AND o."Id" IN (?1)
--   0b5ab1a0-0000-4000-8000-000000000001
-- count pending
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) LIMIT ?3) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count waiting
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."Id" AS TEXT)) AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) LIMIT ?3) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count failed
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.state = ?2 LIMIT ?3) counted
--   shop.outbox
--   FAILED
--   100000
-- list
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?2 AND s.event = CAST(o."Id" AS TEXT) WHERE (1 = 0 OR 1 = 1 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?3 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) OR 1 = 1 AND s.state IS NULL AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) OR 1 = 1 AND s.state = 'FAILED' OR 1 = 0) AND (1 = 0 OR o."Id" = ?5 OR o."Id" = ?6 OR o."Id" = ?7 OR o."Id" = ?8 OR o."Id" = ?9 OR o."Id" = ?10) AND '' = ?11 AND COALESCE(CAST(o."Key" AS TEXT), '') = ?12 AND NULL = ?13 AND o."Added" <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?14 / 1000.0)) AND o."Added" > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?15 / 1000.0)) AND o."Added" >= ?16 AND (o."Added" > ?17 OR CAST(o."Id" AS TEXT) > ?18) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?19
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
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?2 AND s.event = CAST(o."Id" AS TEXT) WHERE (1 = 1 OR 1 = 0) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?3
--   shop.outbox
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
SELECT CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.aggregate_type = '' AND s.aggregate_id = COALESCE(CAST(o."Key" AS TEXT), '') AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND (s.position < CAST(o."Added" AS TEXT) OR (s.position = CAST(o."Added" AS TEXT) AND s.event < CAST(o."Id" AS TEXT)))) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(o."Added" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."Added" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?2 AND s.event = CAST(o."Id" AS TEXT) WHERE (1 = 0 OR 1 = 1 AND s.state = 'DEAD LETTER') AND o."Id" IN (?3) ORDER BY o."Added", CAST(o."Id" AS TEXT) LIMIT ?4
--   shop.outbox
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
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, last_error) SELECT ?1, CAST(o."Id" AS TEXT), '', COALESCE(CAST(o."Key" AS TEXT), ''), CAST(o."Added" AS TEXT), 'DISCARDED', 0, ?2 FROM "shop"."outbox" o WHERE 1 = 1 AND o."Id" IN (?3) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.event = CAST(o."Id" AS TEXT))
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
