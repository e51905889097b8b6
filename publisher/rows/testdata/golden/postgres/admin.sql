-- list
SELECT o.seq, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, CASE WHEN o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > statement_timestamp() THEN 'DELAYED' ELSE o.state END, o.retry_count, o.created_at, o.next_attempt_at, o.last_error, o.seq FROM "shop"."outbox" o WHERE o.state IN ('PENDING', 'WAITING', 'FAILED', 'PUBLISHED') AND NOT (o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > statement_timestamp()) AND (1 = 0 OR o.seq = ANY(CAST($1 AS bigint[])) OR o.idempotency_key = ANY(CAST($2 AS text[]))) AND o.aggregate_type = $3 AND o.aggregate_id = $4 AND o.event_type = $5 AND o.created_at <= statement_timestamp() - CAST($6 AS bigint) * interval '1 millisecond' AND o.created_at > statement_timestamp() - CAST($7 AS bigint) * interval '1 millisecond' AND o.seq > $8 ORDER BY o.seq LIMIT $9
--   [7]
--   [7 0b5ab1a0-0000-4000-8000-000000000001 0b5ab1a000004000]
--   Order
--   42
--   OrderPlaced
--   3600000
--   3600000000
--   7
--   1000
-- list everything
SELECT o.seq, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, CASE WHEN o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > statement_timestamp() THEN 'DELAYED' ELSE o.state END, o.retry_count, o.created_at, o.next_attempt_at, o.last_error, o.seq FROM "shop"."outbox" o WHERE 1 = 1 ORDER BY o.seq LIMIT $1
--   1000
-- requeue
UPDATE "shop"."outbox" SET state = 'FAILED', retry_count = 0, next_attempt_at = statement_timestamp() WHERE seq = ANY(CAST($1 AS bigint[])) AND state IN ('DEAD LETTER', 'FAILED')
--   [1 2]
-- discard
UPDATE "shop"."outbox" SET state = 'DISCARDED', published_at = statement_timestamp(), next_attempt_at = NULL, last_error = $1 WHERE seq = ANY(CAST($2 AS bigint[])) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   [1 2]
-- settle looks for what is not locked
SELECT o.seq FROM "shop"."outbox" o WHERE o.seq = ANY(CAST($1 AS bigint[])) AND o.state IN ('PENDING', 'FAILED') FOR UPDATE OF o SKIP LOCKED
--   [1 2]
-- marks no row
UPDATE "shop"."outbox" SET state = 'PUBLISHED', published_at = statement_timestamp(), next_attempt_at = NULL WHERE seq = ANY(CAST($1 AS bigint[])) AND state IN ('PENDING', 'FAILED')
--   []
-- clean-up looks
SELECT o.seq, CASE WHEN o.state IN ('PUBLISHED', 'DISCARDED') AND o.published_at < statement_timestamp() - CAST($1 AS bigint) * interval '1 millisecond' THEN 2 WHEN o.created_at >= statement_timestamp() - CAST($2 AS bigint) * interval '1 millisecond' THEN 0 ELSE 1 END FROM "shop"."outbox" o WHERE o.seq > $3 ORDER BY o.seq LIMIT $4
--   2592000000
--   2592000000
--   7
--   4000
-- clean-up counts
SELECT COUNT(*) FROM "shop"."outbox" o WHERE o.state IN ('PUBLISHED', 'DISCARDED') AND o.published_at < statement_timestamp() - CAST($1 AS bigint) * interval '1 millisecond'
--   2592000000
-- clean-up deletes
DELETE FROM "shop"."outbox" WHERE seq > $1 AND seq <= $2 AND state IN ('PUBLISHED', 'DISCARDED') AND published_at < statement_timestamp() - CAST($3 AS bigint) * interval '1 millisecond'
--   7
--   4007
--   2592000000
