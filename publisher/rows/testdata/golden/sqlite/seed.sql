-- look
SELECT COALESCE((SELECT 1 FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?2 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT 1), (SELECT 1 FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?3 AND o.state = 'FAILED' AND o.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') LIMIT 1), 0), COALESCE((SELECT 1 FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?4 AND 1 = 1 AND o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state <> 'WAITING' LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM "shop"."rowrelay_claims" p WHERE p.outbox = ?5 AND p.unit = 'pause'), (SELECT n.info FROM "shop"."rowrelay_claims" n WHERE n.outbox = ?6 AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o."id" AS TEXT), 0, CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CAST(o."created_at" AS TEXT), COALESCE(o."retry_count", 0), NULL, NULL, COALESCE(length(CAST(o."payload" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."payload" AS BLOB)), 0) <= ?1 THEN o."payload" END, 0 FROM (SELECT o."id" FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?2 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?3 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o."id" LIMIT ?4) k JOIN "shop"."outbox" o ON o."id" = k."id" ORDER BY o."id"
--   4194304
--   shop.outbox
--   shop.outbox
--   501
-- others
SELECT CAST(o."id" AS TEXT), 0, CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CAST(o."created_at" AS TEXT), COALESCE(o."retry_count", 0), NULL, NULL, COALESCE(length(CAST(o."payload" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."payload" AS BLOB)), 0) <= ?1 THEN o."payload" END, 0 FROM (SELECT o."id" FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT (CAST(o."aggregate_type" AS TEXT) = ?2 AND CAST(o."aggregate_id" AS TEXT) = ?3) AND NOT (CAST(o."aggregate_type" AS TEXT) = ?4 AND CAST(o."aggregate_id" AS TEXT) = ?5) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?7 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o."id" LIMIT ?8) k JOIN "shop"."outbox" o ON o."id" = k."id" ORDER BY o."id"
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o."id" AS TEXT), 0, CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CAST(o."created_at" AS TEXT), COALESCE(o."retry_count", 0), NULL, NULL, COALESCE(length(CAST(o."payload" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."payload" AS BLOB)), 0) <= ?1 THEN o."payload" END, 0 FROM (SELECT o."id" FROM "shop"."outbox" o WHERE o."id" IN (?2, ?3) AND o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?4 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?5 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k JOIN "shop"."outbox" o ON o."id" = k."id" ORDER BY o."id"
--   4194304
--   7
--   8
--   shop.outbox
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?1 AND o.state = 'FAILED' AND o.next_attempt_at <= strftime('%Y-%m-%d %H:%M:%f', 'now') AND (NOT length(CAST(o.aggregate_id AS BLOB)) > 0 OR (SELECT b.event FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?2 AND b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.position, b.event LIMIT 1) = o.event) ORDER BY o.next_attempt_at, o.position, o.event LIMIT ?3
--   shop.outbox
--   shop.outbox
--   100
SELECT CAST(o."id" AS TEXT), 0, CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CAST(o."created_at" AS TEXT), COALESCE(o."retry_count", 0), NULL, NULL, COALESCE(length(CAST(o."payload" AS BLOB)), 0), CASE WHEN COALESCE(length(CAST(o."payload" AS BLOB)), 0) <= ?1 THEN o."payload" END, 0 FROM (SELECT o."id" FROM "shop"."outbox" o WHERE o."id" IN (?2) AND o."published" = 0) k JOIN "shop"."outbox" o ON o."id" = k."id" ORDER BY o."id"
--   4194304
--   7
SELECT COALESCE(-MAX(CAST(round((julianday('now') - julianday(n.due)) * 86400000) AS INTEGER)), -1) FROM (SELECT o.next_attempt_at AS due FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?1 AND o.state = 'FAILED' AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') ORDER BY o.next_attempt_at LIMIT 1) n
--   shop.outbox
-- settle published
UPDATE "shop"."outbox" SET "published" = 1, "published_at" = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE "shop"."outbox"."id" IN (?1, ?2) AND "shop"."outbox"."published" = 0 AND (SELECT COUNT(*) FROM "shop"."rowrelay_claims" WHERE outbox = ?3 AND owner = ?4 AND unit NOT LIKE 'i:%' AND expires_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) >= ?5
--   7
--   8
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
UPDATE "shop"."outbox" SET "published" = 1, "published_at" = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE "shop"."outbox"."id" IN (?1) AND "shop"."outbox"."published" = 0
--   7
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ?1 AND event IN (SELECT value FROM json_each(?2))
--   shop.outbox
--   ["7"]
UPDATE "shop"."rowrelay_claims_events" SET state = ?1, attempts = ?2, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?3) / 1000.0)), last_error = ?4 WHERE outbox = ?5 AND event = ?6 AND state = 'FAILED' AND attempts IN (?7, ?8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   7
--   1
--   2
UPDATE "shop"."outbox" SET "retry_count" = COALESCE("retry_count", 0) + 1 WHERE "id" = ?1
--   7
COMMIT
-- mend
BEGIN
SELECT o.event FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?1 AND o.event > ?2 ORDER BY o.event LIMIT ?3
--   shop.outbox
--   
--   1000
SELECT CAST(o."id" AS TEXT) FROM "shop"."outbox" o WHERE o."id" IN (?1) AND o."published" = 0
--   7
DELETE FROM "shop"."rowrelay_claims_events" WHERE outbox = ?1 AND event IN (SELECT value FROM json_each(?2))
--   shop.outbox
--   ["7"]
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?1 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?2 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT ?3) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?4 AND o.state = 'FAILED' LIMIT ?5) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.event = CAST(o."id" AS TEXT)) AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?7 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT ?8) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?9 AND o.state = 'DEAD LETTER' LIMIT ?10) n), (SELECT CAST(o."created_at" AS TEXT) FROM "shop"."outbox" o WHERE o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?11 AND s.event = CAST(o."id" AS TEXT)) AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?12 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o."id" LIMIT 1), strftime('%Y-%m-%d %H:%M:%f', 'now')
--   shop.outbox
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
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?1, CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807), ?2, 2, strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?3) / 1000.0)), ?4 FROM "shop"."outbox" o WHERE o."id" IN (?5) AND o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?6 AND s.event = CAST(o."id" AS TEXT))
--   shop.outbox
--   FAILED
--   5000
--   422
--   7
--   shop.outbox
-- given up
UPDATE "shop"."rowrelay_claims_events" SET state = ?1, attempts = ?2, next_attempt_at = NULL, last_error = ?3 WHERE outbox = ?4 AND event = ?5 AND state = 'FAILED' AND attempts IN (?6, ?7)
--   DEAD LETTER
--   2
--   422
--   shop.outbox
--   7
--   1
--   2
-- list
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CASE WHEN NOT (o."published" = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?1 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, COALESCE(o."retry_count", 0)), CAST(o."created_at" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."id" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?2 AND s.event = CAST(o."id" AS TEXT) WHERE (1 = 0 OR o."published" = 0 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?3 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR o."published" = 0 AND s.state IS NULL AND EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?4 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR o."published" = 0 AND s.state = 'FAILED' OR o."published" = 1) AND (1 = 0 OR o."id" = ?5 OR o."idempotency_key" = ?6 OR o."idempotency_key" = ?7 OR o."idempotency_key" = ?8) AND CAST(o."aggregate_type" AS TEXT) = ?9 AND CAST(o."aggregate_id" AS TEXT) = ?10 AND o."event_type" = ?11 AND o."created_at" <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?12 / 1000.0)) AND o."created_at" > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?13 / 1000.0)) AND o."id" > ?14 ORDER BY o."id" LIMIT ?15
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
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CASE WHEN NOT (o."published" = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?1 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, COALESCE(o."retry_count", 0)), CAST(o."created_at" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."id" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?2 AND s.event = CAST(o."id" AS TEXT) WHERE (o."published" = 0 OR o."published" = 1) ORDER BY o."id" LIMIT ?3
--   shop.outbox
--   shop.outbox
--   1000
-- list dead letters: keys
SELECT o.event, o.position FROM "shop"."rowrelay_claims_events" o WHERE o.outbox = ?1 AND o.state IN ('DEAD LETTER') AND (o.position > ?2 OR (o.position = ?3 AND o.event > ?4)) ORDER BY o.position, o.event LIMIT ?5
--   shop.outbox
--   7
--   7
--   7
--   1000
-- list dead letters
SELECT CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), o."event_type", o."idempotency_key", CASE WHEN NOT (o."published" = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" b WHERE b.outbox = ?1 AND b.aggregate_type = CAST(o."aggregate_type" AS TEXT) AND b.aggregate_id = CAST(o."aggregate_id" AS TEXT) AND length(CAST(b.aggregate_id AS BLOB)) > 0 AND (b.position < printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) OR b.position = printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807) AND b.event < CAST(o."id" AS TEXT)) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, COALESCE(o."retry_count", 0)), CAST(o."created_at" AS TEXT), s.next_attempt_at, s.last_error, CAST(o."id" AS TEXT) FROM "shop"."outbox" o LEFT JOIN "shop"."rowrelay_claims_events" s ON s.outbox = ?2 AND s.event = CAST(o."id" AS TEXT) WHERE (1 = 0 OR o."published" = 0 AND s.state = 'DEAD LETTER') AND o."id" IN (?3, ?4) ORDER BY o."id" LIMIT ?5
--   shop.outbox
--   shop.outbox
--   7
--   8
--   1000
-- requeue
UPDATE "shop"."rowrelay_claims_events" SET state = 'FAILED', attempts = 0, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE outbox = ?1 AND event IN (SELECT value FROM json_each(?2)) AND state IN ('DEAD LETTER', 'FAILED')
--   shop.outbox
--   ["7","8"]
-- discard
UPDATE "shop"."rowrelay_claims_events" SET state = 'DISCARDED', next_attempt_at = NULL, last_error = ?1 WHERE outbox = ?2 AND event IN (SELECT value FROM json_each(?3)) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   shop.outbox
--   ["7","8"]
-- discard waiting
INSERT INTO "shop"."rowrelay_claims_events" (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?1, CAST(o."id" AS TEXT), CAST(o."aggregate_type" AS TEXT), CAST(o."aggregate_id" AS TEXT), printf('%d%019d', o."id" >= 0, o."id" & 9223372036854775807), 'DISCARDED', 0, NULL, ?2 FROM "shop"."outbox" o WHERE o."id" IN (?3, ?4) AND o."published" = 0 AND NOT EXISTS (SELECT 1 FROM "shop"."rowrelay_claims_events" s WHERE s.outbox = ?5 AND s.event = CAST(o."id" AS TEXT))
--   shop.outbox
--   by ann
--   7
--   8
--   shop.outbox
-- clean-up looks
SELECT CAST(o."id" AS TEXT), CAST(o."id" AS TEXT), CASE WHEN o."published" = 1 AND o."published_at" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?1 / 1000.0)) THEN 2 WHEN o."published" = 1 AND o."published_at" >= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?2 / 1000.0)) THEN 0 ELSE 1 END FROM "shop"."outbox" o WHERE o."id" > ?3 ORDER BY o."id" LIMIT ?4
--   2592000000
--   2592000000
--   7
--   1000
-- clean-up deletes
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."id" <= ?1 AND "shop"."outbox"."published" = 1 AND "shop"."outbox"."published_at" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?2 / 1000.0))
--   7
--   2592000000
-- clean-up deletes after a page
DELETE FROM "shop"."outbox" WHERE "shop"."outbox"."id" > ?1 AND "shop"."outbox"."id" <= ?2 AND "shop"."outbox"."published" = 1 AND "shop"."outbox"."published_at" < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', ?3 / 1000.0))
--   7
--   7
--   2592000000
