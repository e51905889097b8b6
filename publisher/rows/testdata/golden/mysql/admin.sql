-- list
SELECT o.id, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, CASE WHEN o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > UTC_TIMESTAMP(6) THEN 'DELAYED' ELSE o.state END, o.retry_count, o.created_at, o.next_attempt_at, o.last_error, o.id FROM `shop`.`outbox` o WHERE o.state IN ('PENDING', 'WAITING', 'FAILED', 'PUBLISHED') AND NOT (o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > UTC_TIMESTAMP(6)) AND (1 = 0 OR o.id IN (7) OR o.idempotency_key IN (?,?,?)) AND o.aggregate_type = ? AND o.aggregate_id = ? AND o.event_type = ? AND o.created_at <= UTC_TIMESTAMP(6) - INTERVAL (?) * 1000 MICROSECOND AND o.created_at > UTC_TIMESTAMP(6) - INTERVAL (?) * 1000 MICROSECOND AND o.id > ? ORDER BY o.id LIMIT ?
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
SELECT o.id, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, CASE WHEN o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > UTC_TIMESTAMP(6) THEN 'DELAYED' ELSE o.state END, o.retry_count, o.created_at, o.next_attempt_at, o.last_error, o.id FROM `shop`.`outbox` o WHERE 1 = 1 ORDER BY o.id LIMIT ?
--   1000
-- requeue
UPDATE `shop`.`outbox` SET state = 'FAILED', retry_count = 0, next_attempt_at = UTC_TIMESTAMP(6) WHERE id IN (1,2) AND state IN ('DEAD LETTER', 'FAILED')
-- discard
UPDATE `shop`.`outbox` SET state = 'DISCARDED', published_at = UTC_TIMESTAMP(6), next_attempt_at = NULL, last_error = ? WHERE id IN (1,2) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
-- settle looks for what is not locked
SELECT o.id FROM `shop`.`outbox` o WHERE o.id IN (1,2) AND o.state IN ('PENDING', 'FAILED') FOR UPDATE /*!80001 OF o */ SKIP LOCKED
-- marks no row
UPDATE `shop`.`outbox` SET state = 'PUBLISHED', published_at = UTC_TIMESTAMP(6), next_attempt_at = NULL WHERE 1 = 0 AND state IN ('PENDING', 'FAILED')
-- clean-up looks
SELECT o.id, CASE WHEN o.state IN ('PUBLISHED', 'DISCARDED') AND o.published_at < UTC_TIMESTAMP(6) - INTERVAL (?) * 1000 MICROSECOND THEN 2 WHEN o.created_at >= UTC_TIMESTAMP(6) - INTERVAL (?) * 1000 MICROSECOND THEN 0 ELSE 1 END FROM `shop`.`outbox` o WHERE o.id > ? ORDER BY o.id LIMIT ?
--   2592000000
--   2592000000
--   7
--   4000
-- clean-up counts
SELECT COUNT(*) FROM `shop`.`outbox` o WHERE o.state IN ('PUBLISHED', 'DISCARDED') AND o.published_at < UTC_TIMESTAMP(6) - INTERVAL (?) * 1000 MICROSECOND
--   2592000000
-- clean-up deletes
DELETE FROM `shop`.`outbox` WHERE id > ? AND id <= ? AND state IN ('PUBLISHED', 'DISCARDED') AND published_at < UTC_TIMESTAMP(6) - INTERVAL (?) * 1000 MICROSECOND
--   7
--   4007
--   2592000000
