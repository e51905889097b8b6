-- list
SELECT o.seq, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, CASE WHEN o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 'DELAYED' ELSE o.state END, o.retry_count, o.created_at, o.next_attempt_at, o.last_error, o.seq FROM "shop"."outbox" o WHERE o.state IN ('PENDING', 'WAITING', 'FAILED', 'PUBLISHED') AND NOT (o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now')) AND (1 = 0 OR o.seq IN (SELECT value FROM json_each(?)) OR o.idempotency_key IN (SELECT value FROM json_each(?))) AND o.aggregate_type = ? AND o.aggregate_id = ? AND o.event_type = ? AND o.created_at <= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / -1000.0)) AND o.created_at > strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / -1000.0)) AND o.seq > ? ORDER BY o.seq LIMIT ?
--   [7]
--   ["7","0b5ab1a0-0000-4000-8000-000000000001","0b5ab1a000004000"]
--   Order
--   42
--   OrderPlaced
--   3600000
--   3600000000
--   7
--   1000
-- list everything
SELECT o.seq, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, CASE WHEN o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN 'DELAYED' ELSE o.state END, o.retry_count, o.created_at, o.next_attempt_at, o.last_error, o.seq FROM "shop"."outbox" o WHERE 1 = 1 ORDER BY o.seq LIMIT ?
--   1000
-- requeue
UPDATE "shop"."outbox" SET state = 'FAILED', retry_count = 0, next_attempt_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('DEAD LETTER', 'FAILED')
--   [1,2]
-- discard
UPDATE "shop"."outbox" SET state = 'DISCARDED', published_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), next_attempt_at = NULL, last_error = ? WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   [1,2]
-- settle looks for what is not locked
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq IN (SELECT value FROM json_each(?)) AND o.state IN ('PENDING', 'FAILED')
--   [1,2]
-- marks no row
UPDATE "shop"."outbox" SET state = 'PUBLISHED', published_at = strftime('%Y-%m-%d %H:%M:%f', 'now'), next_attempt_at = NULL WHERE seq IN (SELECT value FROM json_each(?)) AND state IN ('PENDING', 'FAILED')
--   []
-- clean-up looks
SELECT o.seq, CASE WHEN o.state IN ('PUBLISHED', 'DISCARDED') AND o.published_at < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / -1000.0)) THEN 2 WHEN o.created_at >= strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / -1000.0)) THEN 0 ELSE 1 END FROM "shop"."outbox" o WHERE o.seq > ? ORDER BY o.seq LIMIT ?
--   2592000000
--   2592000000
--   7
--   4000
-- clean-up counts
SELECT COUNT(*) FROM "shop"."outbox" o WHERE o.state IN ('PUBLISHED', 'DISCARDED') AND o.published_at < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / -1000.0))
--   2592000000
-- clean-up deletes
DELETE FROM "shop"."outbox" WHERE seq > ? AND seq <= ? AND state IN ('PUBLISHED', 'DISCARDED') AND published_at < strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', (?) / -1000.0))
--   7
--   4007
--   2592000000
