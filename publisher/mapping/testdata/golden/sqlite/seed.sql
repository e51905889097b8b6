-- look
SELECT (SELECT COALESCE(c.info, '') FROM "shop"."rowrelay_claims" c WHERE c.outbox = ?1 AND c.unit = 'pause'), CASE WHEN EXISTS (SELECT 1 FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?3 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807))) THEN 1 WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.state = 'FAILED' AND s.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" e WHERE e.outbox = ?5 AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.state IN ('FAILED', 'DEAD LETTER')) THEN 1 ELSE 0 END
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", COALESCE(length(CAST(o."payload" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."payload" AS BLOB)), 0) <= 4194304 THEN o."payload" END, CAST(o."created_at" AS TEXT), o."idempotency_key", NULL, NULL, o."retry_count" FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) ORDER BY o."id" LIMIT ?3
--   shop.outbox
--   shop.outbox
--   501
-- a probe
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", COALESCE(length(CAST(o."payload" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."payload" AS BLOB)), 0) <= 4194304 THEN o."payload" END, CAST(o."created_at" AS TEXT), o."idempotency_key", NULL, NULL, o."retry_count" FROM "shop"."outbox" o WHERE NOT (CAST(o."aggregate_type" AS TEXT) = ?1 AND CAST(o."aggregate_id" AS TEXT) = ?2) AND NOT (CAST(o."aggregate_type" AS TEXT) = ?3 AND CAST(o."aggregate_id" AS TEXT) = ?4) AND o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?5 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) ORDER BY o."id" LIMIT ?7
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", COALESCE(length(CAST(o."payload" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."payload" AS BLOB)), 0) <= 4194304 THEN o."payload" END, CAST(o."created_at" AS TEXT), o."idempotency_key", NULL, NULL, o."retry_count" FROM "shop"."outbox" o WHERE o."id" IN (?1, ?2) AND o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?3 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) ORDER BY o."id"
--   7
--   8
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
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", COALESCE(length(CAST(o."payload" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."payload" AS BLOB)), 0) <= 4194304 THEN o."payload" END, CAST(o."created_at" AS TEXT), o."idempotency_key", NULL, NULL, o."retry_count" FROM "shop"."outbox" o WHERE o."published" = 0 AND o."id" IN (?1, ?2) ORDER BY o."id"
--   7
--   8
-- mark
UPDATE "shop"."outbox" SET "published" = 1, "published_at" = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE "shop"."outbox"."id" IN (?1, ?2) AND "shop"."outbox"."published" = 0 AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = ?3 AND owner = ?4 AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) >= ?5
--   7
--   8
--   shop.outbox
--   me
--   1
-- forget
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ?1 AND event IN (?2, ?3)
--   shop.outbox
--   7
--   8
-- failed again
UPDATE "shop"."rowrelay_claims_events" SET state = ?1, attempts = ?2, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?3) / 1000.0)), last_error = ?4 WHERE outbox = ?5 AND event = ?6 AND state = 'FAILED' AND attempts IN (?7, ?8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   7
--   1
--   2
-- failed for the first time
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?1, CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807), ?2, 2, strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?3) / 1000.0)), ?4 FROM "shop"."outbox" o WHERE o."id" = ?5 AND o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.event = CAST(o."id" AS TEXT))
--   shop.outbox
--   FAILED
--   5000
--   422
--   7
--   shop.outbox
-- given up
UPDATE "shop"."rowrelay_claims_events" SET state = ?1, attempts = ?2, next_attempt_at = NULL, last_error = ?3 WHERE outbox = ?4 AND event = ?5 AND state = 'FAILED' AND attempts IN (?6, ?7)
--   DEAD LETTER
--   5
--   422
--   shop.outbox
--   7
--   4
--   5
-- count the attempt
UPDATE "shop"."outbox" SET "retry_count" = COALESCE("retry_count", 0) + 1 WHERE "id" = ?1
--   7
-- entries
SELECT s.event FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event > ?2 ORDER BY s.event LIMIT ?3
--   shop.outbox
--   
--   1000
-- still pending
SELECT CAST(o."id" AS TEXT) FROM "shop"."outbox" o WHERE o."published" = 0 AND o."id" IN (?1, ?2)
--   7
--   8
-- count pending
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) LIMIT ?3) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count waiting
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."id" AS TEXT)) AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) LIMIT ?3) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count failed
SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.state = ?2 LIMIT ?3) counted
--   shop.outbox
--   FAILED
--   100000
-- list
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CASE WHEN NOT (o."published" = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, o."retry_count"), CAST(o."created_at" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."id" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?2 AND s.event = CAST(o."id" AS TEXT) WHERE (1 = 0 OR o."published" = 0 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?3 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) OR o."published" = 0 AND s.state IS NULL AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) OR o."published" = 0 AND s.state = 'FAILED' OR o."published" = 1) AND (1 = 0 OR o."id" = ?5 OR o."idempotency_key" = ?6 OR o."idempotency_key" = ?7 OR o."idempotency_key" = ?8) AND CAST(o."aggregate_type" AS TEXT) = ?9 AND CAST(o."aggregate_id" AS TEXT) = ?10 AND o."event_type" = ?11 AND o."created_at" <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?12 / 1000.0)) AND o."created_at" > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?13 / 1000.0)) AND o."id" > ?14 ORDER BY o."id" LIMIT ?15
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   7
--   7
--   0b5ab1a0-0000-4000-8000-000000000001
--   0b5ab1a000004000
--   Order
--   42
--   OrderPlaced
--   3600000
--   3600000000
--   7
--   1000
-- list everything
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CASE WHEN NOT (o."published" = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, o."retry_count"), CAST(o."created_at" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."id" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?2 AND s.event = CAST(o."id" AS TEXT) WHERE (o."published" = 0 OR o."published" = 1) ORDER BY o."id" LIMIT ?3
--   shop.outbox
--   shop.outbox
--   1000
-- list dead letters: ids
SELECT s.event, s.position FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.state IN ('DEAD LETTER') AND (s.position > ?2 OR (s.position = ?3 AND s.event > ?4)) ORDER BY s.position, s.event LIMIT ?5
--   shop.outbox
--   1
--   1
--   7
--   1000
-- list dead letters
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CASE WHEN NOT (o."published" = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND s.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807)) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, o."retry_count"), CAST(o."created_at" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."id" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?2 AND s.event = CAST(o."id" AS TEXT) WHERE (1 = 0 OR o."published" = 0 AND s.state = 'DEAD LETTER') AND o."id" IN (?3, ?4) ORDER BY o."id" LIMIT ?5
--   shop.outbox
--   shop.outbox
--   7
--   8
--   1000
-- requeue
UPDATE "shop"."rowrelay_claims_events" SET state = 'FAILED', attempts = 0, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE outbox = ?1 AND state IN ('DEAD LETTER', 'FAILED') AND event IN (SELECT value FROM json_each(?2))
--   shop.outbox
--   ["7","8"]
-- discard
UPDATE "shop"."rowrelay_claims_events" SET state = 'DISCARDED', next_attempt_at = NULL, last_error = ?1 WHERE outbox = ?2 AND state IN ('DEAD LETTER', 'FAILED') AND event IN (SELECT value FROM json_each(?3))
--   by ann
--   shop.outbox
--   ["7","8"]
-- discard waiting
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, last_error) SELECT ?1, CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807), 'DISCARDED', 0, ?2 FROM "shop"."outbox" o WHERE o."published" = 0 AND o."id" IN (?3, ?4) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?5 AND s.event = CAST(o."id" AS TEXT))
--   shop.outbox
--   by ann
--   7
--   8
--   shop.outbox
-- clean-up looks
SELECT CAST(o."id" AS TEXT), CAST(o."id" AS TEXT), CASE WHEN o."published" = 1 AND o."published_at" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?1 / 1000.0)) THEN 1 ELSE 0 END, CASE WHEN o."published" = 1 AND o."published_at" >= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?2 / 1000.0)) THEN 1 ELSE 0 END FROM "shop"."outbox" o WHERE 1 = 1 AND o."id" > ?3 ORDER BY o."id" LIMIT ?4
--   3600000
--   3600000
--   7
--   1000
-- clean-up deletes
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."id" IN (?1, ?2) AND "shop"."outbox"."published" = 1 AND "shop"."outbox"."published_at" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?3 / 1000.0))
--   7
--   8
--   3600000
