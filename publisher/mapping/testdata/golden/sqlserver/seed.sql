-- look
SELECT (SELECT COALESCE(c.info, '') FROM [shop].[rowrelay_claims] c WHERE c.outbox = CAST(@p1 AS nvarchar(4000)) AND c.unit = 'pause'), CASE WHEN EXISTS (SELECT 1 FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p3 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)) THEN 1 WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p4 AS nvarchar(4000)) AND s.state = 'FAILED' AND s.next_attempt_at <= SYSUTCDATETIME() AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] e WHERE e.outbox = CAST(@p5 AS nvarchar(4000)) AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.state IN ('FAILED', 'DEAD LETTER')) THEN 1 ELSE 0 END
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], COALESCE((DATALENGTH(o.[payload]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[payload]) / 2), 0) <= 4194304 THEN o.[payload] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[idempotency_key], NULL, NULL, o.[retry_count] FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   shop.outbox
--   501
-- a probe
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], COALESCE((DATALENGTH(o.[payload]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[payload]) / 2), 0) <= 4194304 THEN o.[payload] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[idempotency_key], NULL, NULL, o.[retry_count] FROM [shop].[outbox] o WHERE NOT (CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p1 AS nvarchar(4000)) AND CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p2 AS nvarchar(4000))) AND NOT (CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p3 AS nvarchar(4000)) AND CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p4 AS nvarchar(4000))) AND o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p5 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p7 ROWS ONLY
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], COALESCE((DATALENGTH(o.[payload]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[payload]) / 2), 0) <= 4194304 THEN o.[payload] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[idempotency_key], NULL, NULL, o.[retry_count] FROM [shop].[outbox] o WHERE o.[id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS bigint), CAST(CAST(@p2 AS nvarchar(4000)) AS bigint)) AND o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p3 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p4 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY o.[id]
--   7
--   8
--   shop.outbox
--   shop.outbox
-- when is the next due
SELECT MIN(-(DATEDIFF_BIG(millisecond, s.next_attempt_at, SYSUTCDATETIME()))) FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.state = 'FAILED' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] e WHERE e.outbox = CAST(@p2 AS nvarchar(4000)) AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))
--   shop.outbox
--   shop.outbox
-- due ids
SELECT s.event, s.attempts FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.state = 'FAILED' AND s.next_attempt_at <= SYSUTCDATETIME() AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] e WHERE e.outbox = CAST(@p2 AS nvarchar(4000)) AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event))) ORDER BY s.position, s.event OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   shop.outbox
--   100
-- rows by id
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], COALESCE((DATALENGTH(o.[payload]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[payload]) / 2), 0) <= 4194304 THEN o.[payload] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[idempotency_key], NULL, NULL, o.[retry_count] FROM [shop].[outbox] o WHERE o.[published] = 0 AND o.[id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS bigint), CAST(CAST(@p2 AS nvarchar(4000)) AS bigint)) ORDER BY o.[id]
--   7
--   8
-- mark
UPDATE [shop].[outbox] SET [published] = 1, [published_at] = TODATETIMEOFFSET(SYSUTCDATETIME(), '+00:00') WHERE [shop].[outbox].[id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS bigint), CAST(CAST(@p2 AS nvarchar(4000)) AS bigint)) AND [shop].[outbox].[published] = 0 AND (SELECT COUNT(*) FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p3 AS nvarchar(4000)) AND owner = CAST(@p4 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()) >= @p5
--   7
--   8
--   shop.outbox
--   me
--   1
-- forget
DELETE FROM [shop].[rowrelay_claims_events] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (CAST(@p2 AS nvarchar(4000)), CAST(@p3 AS nvarchar(4000)))
--   shop.outbox
--   7
--   8
-- failed again
UPDATE [shop].[rowrelay_claims_events] SET state = CAST(@p1 AS nvarchar(4000)), attempts = @p2, next_attempt_at = DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), last_error = CAST(@p4 AS nvarchar(4000)) WHERE outbox = CAST(@p5 AS nvarchar(4000)) AND event = CAST(@p6 AS nvarchar(4000)) AND state = 'FAILED' AND attempts IN (@p7, @p8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   7
--   1
--   2
-- failed for the first time
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(@p2 AS nvarchar(4000)), 2, DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), CAST(@p4 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[id] = CAST(CAST(@p5 AS nvarchar(4000)) AS bigint) AND o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   FAILED
--   5000
--   422
--   7
--   shop.outbox
-- given up
UPDATE [shop].[rowrelay_claims_events] SET state = CAST(@p1 AS nvarchar(4000)), attempts = @p2, next_attempt_at = NULL, last_error = CAST(@p3 AS nvarchar(4000)) WHERE outbox = CAST(@p4 AS nvarchar(4000)) AND event = CAST(@p5 AS nvarchar(4000)) AND state = 'FAILED' AND attempts IN (@p6, @p7)
--   DEAD LETTER
--   5
--   422
--   shop.outbox
--   7
--   4
--   5
-- count the attempt
UPDATE [shop].[outbox] SET [retry_count] = COALESCE([retry_count], 0) + 1 WHERE [id] = CAST(CAST(@p1 AS nvarchar(4000)) AS bigint)
--   7
-- entries
SELECT s.event FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event > CAST(@p2 AS nvarchar(4000)) ORDER BY s.event OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   
--   1000
-- still pending
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o WHERE o.[published] = 0 AND o.[id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS bigint), CAST(CAST(@p2 AS nvarchar(4000)) AS bigint))
--   7
--   8
-- count pending
SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count waiting
SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count failed
SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.state = CAST(@p2 AS nvarchar(4000)) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) counted
--   shop.outbox
--   FAILED
--   100000
-- list
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CASE WHEN NOT (o.[published] = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, o.[retry_count]), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CONVERT(varchar(33), s.next_attempt_at, 121), s.last_error, CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 0 OR o.[published] = 0 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p3 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) OR o.[published] = 0 AND s.state IS NULL AND EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p4 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) OR o.[published] = 0 AND s.state = 'FAILED' OR o.[published] = 1) AND (1 = 0 OR o.[id] = CAST(CAST(@p5 AS nvarchar(4000)) AS bigint) OR o.[idempotency_key] = CAST(CAST(@p6 AS nvarchar(4000)) AS nvarchar(255)) OR o.[idempotency_key] = CAST(CAST(@p7 AS nvarchar(4000)) AS nvarchar(255)) OR o.[idempotency_key] = CAST(CAST(@p8 AS nvarchar(4000)) AS nvarchar(255))) AND CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p9 AS nvarchar(4000)) AND CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p10 AS nvarchar(4000)) AND o.[event_type] = CAST(@p11 AS nvarchar(4000)) AND o.[created_at] <= TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p12 % 1000 AS int), DATEADD(second, -CAST(@p12 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[created_at] > TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p13 % 1000 AS int), DATEADD(second, -CAST(@p13 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[id] > CAST(CAST(@p14 AS nvarchar(4000)) AS bigint) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p15 ROWS ONLY
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
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CASE WHEN NOT (o.[published] = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, o.[retry_count]), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CONVERT(varchar(33), s.next_attempt_at, 121), s.last_error, CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (o.[published] = 0 OR o.[published] = 1) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   shop.outbox
--   1000
-- list dead letters: ids
SELECT s.event, s.position FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.state IN ('DEAD LETTER') AND (s.position > CAST(@p2 AS nvarchar(4000)) OR (s.position = CAST(@p3 AS nvarchar(4000)) AND s.event > CAST(@p4 AS nvarchar(4000)))) ORDER BY s.position, s.event OFFSET 0 ROWS FETCH NEXT @p5 ROWS ONLY
--   shop.outbox
--   1
--   1
--   7
--   1000
-- list dead letters
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CASE WHEN NOT (o.[published] = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, o.[retry_count]), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CONVERT(varchar(33), s.next_attempt_at, 121), s.last_error, CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 0 OR o.[published] = 0 AND s.state = 'DEAD LETTER') AND o.[id] IN (CAST(CAST(@p3 AS nvarchar(4000)) AS bigint), CAST(CAST(@p4 AS nvarchar(4000)) AS bigint)) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p5 ROWS ONLY
--   shop.outbox
--   shop.outbox
--   7
--   8
--   1000
-- requeue
UPDATE [shop].[rowrelay_claims_events] SET state = 'FAILED', attempts = 0, next_attempt_at = SYSUTCDATETIME() WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND state IN ('DEAD LETTER', 'FAILED') AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j)
--   shop.outbox
--   ["7","8"]
-- discard
UPDATE [shop].[rowrelay_claims_events] SET state = 'DISCARDED', next_attempt_at = NULL, last_error = CAST(@p1 AS nvarchar(4000)) WHERE outbox = CAST(@p2 AS nvarchar(4000)) AND state IN ('DEAD LETTER', 'FAILED') AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p3) AS j)
--   by ann
--   shop.outbox
--   ["7","8"]
-- discard waiting
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 'DISCARDED', 0, CAST(@p2 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[published] = 0 AND o.[id] IN (CAST(CAST(@p3 AS nvarchar(4000)) AS bigint), CAST(CAST(@p4 AS nvarchar(4000)) AS bigint)) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p5 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   by ann
--   7
--   8
--   shop.outbox
-- clean-up looks
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CASE WHEN o.[published] = 1 AND o.[published_at] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p1 % 1000 AS int), DATEADD(second, -CAST(@p1 / 1000 AS int), SYSUTCDATETIME())), '+00:00') THEN 1 ELSE 0 END, CASE WHEN o.[published] = 1 AND o.[published_at] >= TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p2 % 1000 AS int), DATEADD(second, -CAST(@p2 / 1000 AS int), SYSUTCDATETIME())), '+00:00') THEN 1 ELSE 0 END FROM [shop].[outbox] o WHERE 1 = 1 AND o.[id] > CAST(CAST(@p3 AS nvarchar(4000)) AS bigint) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY
--   3600000
--   3600000
--   7
--   1000
-- clean-up deletes
DELETE FROM [shop].[outbox] WHERE [shop].[outbox].[id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS bigint), CAST(CAST(@p2 AS nvarchar(4000)) AS bigint)) AND [shop].[outbox].[published] = 1 AND [shop].[outbox].[published_at] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p3 % 1000 AS int), DATEADD(second, -CAST(@p3 / 1000 AS int), SYSUTCDATETIME())), '+00:00')
--   7
--   8
--   3600000
