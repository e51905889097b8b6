-- look
SELECT COALESCE((SELECT 1 FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p2 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), (SELECT 1 FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p3 AS nvarchar(4000)) AND o.state = 'FAILED' AND o.next_attempt_at <= SYSUTCDATETIME() ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), 0), COALESCE((SELECT 1 FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p4 AS nvarchar(4000)) AND 1 = 1 AND o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state <> 'WAITING' ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), 0), (SELECT COALESCE(p.info, '') FROM [shop].[rowrelay_claims] p WHERE p.outbox = CAST(@p5 AS nvarchar(4000)) AND p.unit = 'pause'), (SELECT n.info FROM [shop].[rowrelay_claims] n WHERE n.outbox = CAST(@p6 AS nvarchar(4000)) AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, COALESCE(o.[retry_count], 0), NULL, NULL, COALESCE((DATALENGTH(o.[payload]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[payload]) / 2), 0) <= @p1 THEN o.[payload] END, 0 FROM (SELECT o.[id] FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p3 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY) k JOIN [shop].[outbox] o ON o.[id] = k.[id] ORDER BY o.[id]
--   4194304
--   shop.outbox
--   shop.outbox
--   501
-- others
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, COALESCE(o.[retry_count], 0), NULL, NULL, COALESCE((DATALENGTH(o.[payload]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[payload]) / 2), 0) <= @p1 THEN o.[payload] END, 0 FROM (SELECT o.[id] FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT (CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p2 AS nvarchar(4000)) AND CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p3 AS nvarchar(4000))) AND NOT (CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p4 AS nvarchar(4000)) AND CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p5 AS nvarchar(4000))) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p7 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p8 ROWS ONLY) k JOIN [shop].[outbox] o ON o.[id] = k.[id] ORDER BY o.[id]
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, COALESCE(o.[retry_count], 0), NULL, NULL, COALESCE((DATALENGTH(o.[payload]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[payload]) / 2), 0) <= @p1 THEN o.[payload] END, 0 FROM (SELECT o.[id] FROM [shop].[outbox] o WHERE o.[id] IN (CAST(CAST(@p2 AS nvarchar(4000)) AS bigint), CAST(CAST(@p3 AS nvarchar(4000)) AS bigint)) AND o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p4 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p5 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k JOIN [shop].[outbox] o ON o.[id] = k.[id] ORDER BY o.[id]
--   4194304
--   7
--   8
--   shop.outbox
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.state = 'FAILED' AND o.next_attempt_at <= SYSUTCDATETIME() AND (NOT (DATALENGTH(o.aggregate_id) / 2) > 0 OR (SELECT b.event FROM [shop].[rowrelay_claims_events] b WHERE b.outbox = CAST(@p2 AS nvarchar(4000)) AND b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.position, b.event OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) = o.event) ORDER BY o.next_attempt_at, o.position, o.event OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   shop.outbox
--   100
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, COALESCE(o.[retry_count], 0), NULL, NULL, COALESCE((DATALENGTH(o.[payload]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[payload]) / 2), 0) <= @p1 THEN o.[payload] END, 0 FROM (SELECT o.[id] FROM [shop].[outbox] o WHERE o.[id] IN (CAST(CAST(@p2 AS nvarchar(4000)) AS bigint)) AND o.[published] = 0) k JOIN [shop].[outbox] o ON o.[id] = k.[id] ORDER BY o.[id]
--   4194304
--   7
SELECT COALESCE(-MAX(DATEDIFF_BIG(millisecond, n.due, SYSUTCDATETIME())), -1) FROM (SELECT o.next_attempt_at AS due FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.state = 'FAILED' AND o.next_attempt_at > SYSUTCDATETIME() ORDER BY o.next_attempt_at OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) n
--   shop.outbox
-- settle published
UPDATE [shop].[outbox] SET [published] = 1, [published_at] = TODATETIMEOFFSET(SYSUTCDATETIME(), '+00:00') WHERE [shop].[outbox].[id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS bigint), CAST(CAST(@p2 AS nvarchar(4000)) AS bigint)) AND [shop].[outbox].[published] = 0 AND (SELECT COUNT(*) FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p3 AS nvarchar(4000)) AND owner = CAST(@p4 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()) >= @p5
--   7
--   8
--   shop.outbox
--   me
--   1
-- settle everything else
BEGIN
SELECT unit FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND owner = CAST(@p2 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()
--   shop.outbox
--   me
SELECT c.unit FROM OPENJSON(@p1) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (UPDLOCK, ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p2 AS nvarchar(4000)) AND c.owner = CAST(@p3 AS nvarchar(4000)) AND c.expires_at > SYSUTCDATETIME() ORDER BY c.unit
--   [{"unit":"p0"}]
--   shop.outbox
--   me
UPDATE [shop].[outbox] SET [published] = 1, [published_at] = TODATETIMEOFFSET(SYSUTCDATETIME(), '+00:00') WHERE [shop].[outbox].[id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS bigint)) AND [shop].[outbox].[published] = 0
--   7
DELETE FROM [shop].[rowrelay_claims_events] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j)
--   shop.outbox
--   ["7"]
UPDATE [shop].[rowrelay_claims_events] SET state = CAST(@p1 AS nvarchar(4000)), attempts = @p2, next_attempt_at = DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), last_error = CAST(@p4 AS nvarchar(4000)) WHERE outbox = CAST(@p5 AS nvarchar(4000)) AND event = CAST(@p6 AS nvarchar(4000)) AND state = 'FAILED' AND attempts IN (@p7, @p8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   7
--   1
--   2
UPDATE [shop].[outbox] SET [retry_count] = COALESCE([retry_count], 0) + 1 WHERE [id] = CAST(CAST(@p1 AS nvarchar(4000)) AS bigint)
--   7
COMMIT
-- mend
BEGIN
SELECT o.event FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.event > CAST(@p2 AS nvarchar(4000)) ORDER BY o.event OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   
--   1000
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o WHERE o.[id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS bigint)) AND o.[published] = 0
--   7
DELETE FROM [shop].[rowrelay_claims_events] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j)
--   shop.outbox
--   ["7"]
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p2 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p4 AS nvarchar(4000)) AND o.state = 'FAILED' ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p5 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p7 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p8 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p9 AS nvarchar(4000)) AND o.state = 'DEAD LETTER' ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p10 ROWS ONLY) n), (SELECT CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o WHERE o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p11 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p12 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), SYSUTCDATETIME()
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
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(@p2 AS nvarchar(4000)), 2, DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), CAST(@p4 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[id] IN (CAST(CAST(@p5 AS nvarchar(4000)) AS bigint)) AND o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   FAILED
--   5000
--   422
--   7
--   shop.outbox
-- given up
UPDATE [shop].[rowrelay_claims_events] SET state = CAST(@p1 AS nvarchar(4000)), attempts = @p2, next_attempt_at = NULL, last_error = CAST(@p3 AS nvarchar(4000)) WHERE outbox = CAST(@p4 AS nvarchar(4000)) AND event = CAST(@p5 AS nvarchar(4000)) AND state = 'FAILED' AND attempts IN (@p6, @p7)
--   DEAD LETTER
--   2
--   422
--   shop.outbox
--   7
--   1
--   2
-- list
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CASE WHEN NOT (o.[published] = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p1 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, COALESCE(o.[retry_count], 0)), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, s.next_attempt_at, s.last_error, CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 0 OR o.[published] = 0 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p3 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR o.[published] = 0 AND s.state IS NULL AND EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p4 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR o.[published] = 0 AND s.state = 'FAILED' OR o.[published] = 1) AND (1 = 0 OR o.[id] = CAST(CAST(@p5 AS nvarchar(4000)) AS bigint) OR o.[idempotency_key] = CAST(CAST(@p6 AS nvarchar(4000)) AS nvarchar(255)) OR o.[idempotency_key] = CAST(CAST(@p7 AS nvarchar(4000)) AS nvarchar(255)) OR o.[idempotency_key] = CAST(CAST(@p8 AS nvarchar(4000)) AS nvarchar(255))) AND CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p9 AS nvarchar(4000)) AND CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 = CAST(@p10 AS nvarchar(4000)) AND o.[event_type] = CAST(@p11 AS nvarchar(4000)) AND o.[created_at] <= TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p12 % 1000 AS int), DATEADD(second, -CAST(@p12 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[created_at] > TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p13 % 1000 AS int), DATEADD(second, -CAST(@p13 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[id] > CAST(CAST(@p14 AS nvarchar(4000)) AS bigint) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p15 ROWS ONLY
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
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CASE WHEN NOT (o.[published] = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p1 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, COALESCE(o.[retry_count], 0)), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, s.next_attempt_at, s.last_error, CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (o.[published] = 0 OR o.[published] = 1) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   shop.outbox
--   1000
-- list dead letters: keys
SELECT o.event, o.position FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.state IN ('DEAD LETTER') AND (o.position > CAST(@p2 AS nvarchar(4000)) OR (o.position = CAST(@p3 AS nvarchar(4000)) AND o.event > CAST(@p4 AS nvarchar(4000)))) ORDER BY o.position, o.event OFFSET 0 ROWS FETCH NEXT @p5 ROWS ONLY
--   shop.outbox
--   7
--   7
--   7
--   1000
-- list dead letters
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, o.[event_type], o.[idempotency_key], CASE WHEN NOT (o.[published] = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p1 AS nvarchar(4000)) AND b.aggregate_type = CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.aggregate_id = CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, COALESCE(o.[retry_count], 0)), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[created_at], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, s.next_attempt_at, s.last_error, CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 0 OR o.[published] = 0 AND s.state = 'DEAD LETTER') AND o.[id] IN (CAST(CAST(@p3 AS nvarchar(4000)) AS bigint), CAST(CAST(@p4 AS nvarchar(4000)) AS bigint)) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p5 ROWS ONLY
--   shop.outbox
--   shop.outbox
--   7
--   8
--   1000
-- requeue
UPDATE [shop].[rowrelay_claims_events] SET state = 'FAILED', attempts = 0, next_attempt_at = SYSUTCDATETIME() WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j) AND state IN ('DEAD LETTER', 'FAILED')
--   shop.outbox
--   ["7","8"]
-- discard
UPDATE [shop].[rowrelay_claims_events] SET state = 'DISCARDED', next_attempt_at = NULL, last_error = CAST(@p1 AS nvarchar(4000)) WHERE outbox = CAST(@p2 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p3) AS j) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   shop.outbox
--   ["7","8"]
-- discard waiting
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_type] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[aggregate_id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(CASE WHEN o.[id] >= 0 THEN '1' ELSE '0' END + RIGHT('0000000000000000000' + CONVERT(varchar(19), CAST(o.[id] AS bigint) & CAST(9223372036854775807 AS bigint)), 19) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 'DISCARDED', 0, NULL, CAST(@p2 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[id] IN (CAST(CAST(@p3 AS nvarchar(4000)) AS bigint), CAST(CAST(@p4 AS nvarchar(4000)) AS bigint)) AND o.[published] = 0 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p5 AS nvarchar(4000)) AND s.event = CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   by ann
--   7
--   8
--   shop.outbox
-- clean-up looks
SELECT CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CASE WHEN o.[published] = 1 AND o.[published_at] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p1 % 1000 AS int), DATEADD(second, -CAST(@p1 / 1000 AS int), SYSUTCDATETIME())), '+00:00') THEN 2 WHEN o.[published] = 1 AND o.[published_at] >= TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p2 % 1000 AS int), DATEADD(second, -CAST(@p2 / 1000 AS int), SYSUTCDATETIME())), '+00:00') THEN 0 ELSE 1 END FROM [shop].[outbox] o WHERE o.[id] > CAST(CAST(@p3 AS nvarchar(4000)) AS bigint) ORDER BY o.[id] OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY
--   2592000000
--   2592000000
--   7
--   1000
-- clean-up deletes
DELETE FROM [shop].[outbox] WHERE [shop].[outbox].[id] <= CAST(CAST(@p1 AS nvarchar(4000)) AS bigint) AND [shop].[outbox].[published] = 1 AND [shop].[outbox].[published_at] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p2 % 1000 AS int), DATEADD(second, -CAST(@p2 / 1000 AS int), SYSUTCDATETIME())), '+00:00')
--   7
--   2592000000
-- clean-up deletes after a page
DELETE FROM [shop].[outbox] WHERE [shop].[outbox].[id] > CAST(CAST(@p1 AS nvarchar(4000)) AS bigint) AND [shop].[outbox].[id] <= CAST(CAST(@p2 AS nvarchar(4000)) AS bigint) AND [shop].[outbox].[published] = 1 AND [shop].[outbox].[published_at] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p3 % 1000 AS int), DATEADD(second, -CAST(@p3 / 1000 AS int), SYSUTCDATETIME())), '+00:00')
--   7
--   7
--   2592000000
