-- list
SELECT o.seq, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, CASE WHEN o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > SYSUTCDATETIME() THEN 'DELAYED' ELSE o.state END, o.retry_count, o.created_at, o.next_attempt_at, o.last_error, o.seq FROM [shop].[outbox] o WHERE o.state IN ('PENDING', 'WAITING', 'FAILED', 'PUBLISHED') AND NOT (o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > SYSUTCDATETIME()) AND (1 = 0 OR o.seq IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(@p1) AS j) OR o.idempotency_key IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j)) AND o.aggregate_type = CAST(@p3 AS nvarchar(4000)) AND o.aggregate_id = CAST(@p4 AS nvarchar(4000)) AND o.event_type = CAST(@p5 AS nvarchar(4000)) AND o.created_at <= DATEADD(millisecond, -CAST(@p6 % 1000 AS int), DATEADD(second, -CAST(@p6 / 1000 AS int), SYSUTCDATETIME())) AND o.created_at > DATEADD(millisecond, -CAST(@p7 % 1000 AS int), DATEADD(second, -CAST(@p7 / 1000 AS int), SYSUTCDATETIME())) AND o.seq > @p8 ORDER BY o.seq OFFSET 0 ROWS FETCH NEXT @p9 ROWS ONLY
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
SELECT o.seq, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, CASE WHEN o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > SYSUTCDATETIME() THEN 'DELAYED' ELSE o.state END, o.retry_count, o.created_at, o.next_attempt_at, o.last_error, o.seq FROM [shop].[outbox] o WHERE 1 = 1 ORDER BY o.seq OFFSET 0 ROWS FETCH NEXT @p1 ROWS ONLY
--   1000
-- requeue
UPDATE o SET state = 'FAILED', retry_count = 0, next_attempt_at = SYSUTCDATETIME() FROM OPENJSON(@p1) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('DEAD LETTER', 'FAILED')
--   [{"seq":1},{"seq":2}]
-- discard
UPDATE o SET state = 'DISCARDED', published_at = SYSUTCDATETIME(), next_attempt_at = NULL, last_error = CAST(@p1 AS nvarchar(4000)) FROM OPENJSON(@p2) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   [{"seq":1},{"seq":2}]
-- settle looks for what is not locked
SELECT o.seq FROM [shop].[outbox] o WITH (UPDLOCK, READCOMMITTEDLOCK, READPAST) WHERE o.seq IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(@p1) AS j) AND o.state IN ('PENDING', 'FAILED')
--   [1,2]
-- marks no row
UPDATE o SET state = 'PUBLISHED', published_at = SYSUTCDATETIME(), next_attempt_at = NULL FROM OPENJSON(@p1) WITH (seq bigint '$.seq') AS r INNER LOOP JOIN [shop].[outbox] AS o WITH (ROWLOCK) ON o.seq = r.seq WHERE 1 = 1 AND state IN ('PENDING', 'FAILED')
--   []
-- clean-up looks
SELECT o.seq, CASE WHEN o.state IN ('PUBLISHED', 'DISCARDED') AND o.published_at < DATEADD(millisecond, -CAST(@p1 % 1000 AS int), DATEADD(second, -CAST(@p1 / 1000 AS int), SYSUTCDATETIME())) THEN 2 WHEN o.created_at >= DATEADD(millisecond, -CAST(@p2 % 1000 AS int), DATEADD(second, -CAST(@p2 / 1000 AS int), SYSUTCDATETIME())) THEN 0 ELSE 1 END FROM [shop].[outbox] o WHERE o.seq > @p3 ORDER BY o.seq OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY
--   2592000000
--   2592000000
--   7
--   4000
-- clean-up counts
SELECT COUNT(*) FROM [shop].[outbox] o WHERE o.state IN ('PUBLISHED', 'DISCARDED') AND o.published_at < DATEADD(millisecond, -CAST(@p1 % 1000 AS int), DATEADD(second, -CAST(@p1 / 1000 AS int), SYSUTCDATETIME()))
--   2592000000
-- clean-up deletes
SET DEADLOCK_PRIORITY LOW; DELETE FROM [shop].[outbox] WHERE seq > @p1 AND seq <= @p2 AND state IN ('PUBLISHED', 'DISCARDED') AND published_at < DATEADD(millisecond, -CAST(@p3 % 1000 AS int), DATEADD(second, -CAST(@p3 / 1000 AS int), SYSUTCDATETIME()))
--   7
--   4007
--   2592000000
