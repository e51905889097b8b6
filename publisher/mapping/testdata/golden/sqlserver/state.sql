-- look
SELECT (SELECT COALESCE(c.info, '') FROM [shop].[rowrelay_claims] c WHERE c.outbox = CAST(@p1 AS nvarchar(4000)) AND c.unit = 'pause'), CASE WHEN EXISTS (SELECT 1 FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)) THEN 1 WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p3 AS nvarchar(4000)) AND s.state = 'FAILED' AND s.next_attempt_at <= SYSUTCDATETIME() AND 1 = 1) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p4 AS nvarchar(4000)) AND s.state IN ('FAILED', 'DEAD LETTER')) THEN 1 ELSE 0 END
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= 4194304 THEN o.[Body] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, NULL, NULL, NULL, 0 FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p2 ROWS ONLY
--   shop.outbox
--   501
-- a probe
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= 4194304 THEN o.[Body] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, NULL, NULL, NULL, 0 FROM [shop].[outbox] o WHERE NOT ('' = CAST(@p1 AS nvarchar(4000)) AND '' = CAST(@p2 AS nvarchar(4000))) AND NOT ('' = CAST(@p3 AS nvarchar(4000)) AND '' = CAST(@p4 AS nvarchar(4000))) AND o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p5 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p6 ROWS ONLY
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   1
-- again
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= 4194304 THEN o.[Body] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, NULL, NULL, NULL, 0 FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- when is the next due
SELECT MIN(-(DATEDIFF_BIG(millisecond, s.next_attempt_at, SYSUTCDATETIME()))) FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.state = 'FAILED' AND 1 = 1
--   shop.outbox
-- due ids
SELECT s.event, s.attempts FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.state = 'FAILED' AND s.next_attempt_at <= SYSUTCDATETIME() AND 1 = 1 ORDER BY s.position, s.event OFFSET 0 ROWS FETCH NEXT @p2 ROWS ONLY
--   shop.outbox
--   100
-- rows by id
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= 4194304 THEN o.[Body] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, NULL, NULL, NULL, 0 FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND o.[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2
--   0b5ab1a0-0000-4000-8000-000000000001
-- mark
UPDATE [shop].[outbox] SET [Status] = N'Sent', [Sent] = TODATETIMEOFFSET(SYSUTCDATETIME(), '+00:00') WHERE [shop].[outbox].[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND [shop].[outbox].[Status] = N'New' AND (SELECT COUNT(*) FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p2 AS nvarchar(4000)) AND owner = CAST(@p3 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()) >= @p4
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   me
--   1
-- forget
DELETE FROM [shop].[rowrelay_claims_events] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (CAST(@p2 AS nvarchar(4000)))
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
-- failed again
UPDATE [shop].[rowrelay_claims_events] SET state = CAST(@p1 AS nvarchar(4000)), attempts = @p2, next_attempt_at = DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), last_error = CAST(@p4 AS nvarchar(4000)) WHERE outbox = CAST(@p5 AS nvarchar(4000)) AND event = CAST(@p6 AS nvarchar(4000)) AND state = 'FAILED' AND attempts IN (@p7, @p8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
-- failed for the first time
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(@p2 AS nvarchar(4000)), 2, DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), CAST(@p4 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[Id] = CAST(CAST(@p5 AS nvarchar(4000)) AS uniqueidentifier) AND o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   FAILED
--   5000
--   422
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- given up
UPDATE [shop].[rowrelay_claims_events] SET state = CAST(@p1 AS nvarchar(4000)), attempts = @p2, next_attempt_at = NULL, last_error = CAST(@p3 AS nvarchar(4000)) WHERE outbox = CAST(@p4 AS nvarchar(4000)) AND event = CAST(@p5 AS nvarchar(4000)) AND state = 'FAILED' AND attempts IN (@p6, @p7)
--   DEAD LETTER
--   5
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   4
--   5
-- entries
SELECT s.event FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event > CAST(@p2 AS nvarchar(4000)) ORDER BY s.event OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   
--   1000
-- still pending
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND o.[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier))
--   0b5ab1a0-0000-4000-8000-000000000001
-- count pending
SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p2 ROWS ONLY) counted
--   shop.outbox
--   100000
-- count waiting
SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND 1 = 0 ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p2 ROWS ONLY) counted
--   shop.outbox
--   100000
-- count failed
SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.state = CAST(@p2 AS nvarchar(4000)) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) counted
--   shop.outbox
--   FAILED
--   100000
-- list
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, NULL, CASE WHEN NOT (o.[Status] = N'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CONVERT(varchar(33), s.next_attempt_at, 121), s.last_error, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 0 OR o.[Status] = N'New' AND s.state IS NULL AND 1 = 1 OR o.[Status] = N'New' AND s.state IS NULL AND 1 = 0 OR o.[Status] = N'New' AND s.state = 'FAILED' OR o.[Status] = N'Sent') AND (1 = 0 OR o.[Id] = CAST(CAST(@p2 AS nvarchar(4000)) AS uniqueidentifier) OR o.[Id] = CAST(CAST(@p3 AS nvarchar(4000)) AS uniqueidentifier)) AND '' = CAST(@p4 AS nvarchar(4000)) AND '' = CAST(@p5 AS nvarchar(4000)) AND NULL = CAST(@p6 AS nvarchar(4000)) AND o.[Added] <= TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p7 % 1000 AS int), DATEADD(second, -CAST(@p7 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[Added] > TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p8 % 1000 AS int), DATEADD(second, -CAST(@p8 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[Added] >= TODATETIMEOFFSET(CAST(CAST(@p9 AS nvarchar(4000)) AS datetime2(7)), '+00:00') AND (o.[Added] > TODATETIMEOFFSET(CAST(CAST(@p10 AS nvarchar(4000)) AS datetime2(7)), '+00:00') OR CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 > CAST(@p11 AS nvarchar(4000))) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p12 ROWS ONLY
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   0b5ab1a0-0000-4000-8000-000000000001
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
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, NULL, CASE WHEN NOT (o.[Status] = N'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CONVERT(varchar(33), s.next_attempt_at, 121), s.last_error, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (o.[Status] = N'New' OR o.[Status] = N'Sent') ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p2 ROWS ONLY
--   shop.outbox
--   1000
-- list dead letters: ids
SELECT s.event, s.position FROM [shop].[rowrelay_claims_events] s WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.state IN ('DEAD LETTER') AND (s.position > CAST(@p2 AS nvarchar(4000)) OR (s.position = CAST(@p3 AS nvarchar(4000)) AND s.event > CAST(@p4 AS nvarchar(4000)))) ORDER BY s.position, s.event OFFSET 0 ROWS FETCH NEXT @p5 ROWS ONLY
--   shop.outbox
--   1
--   1
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list dead letters
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, NULL, CASE WHEN NOT (o.[Status] = N'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CONVERT(varchar(33), s.next_attempt_at, 121), s.last_error, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 0 OR o.[Status] = N'New' AND s.state = 'DEAD LETTER') AND o.[Id] IN (CAST(CAST(@p2 AS nvarchar(4000)) AS uniqueidentifier)) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- requeue
UPDATE [shop].[rowrelay_claims_events] SET state = 'FAILED', attempts = 0, next_attempt_at = SYSUTCDATETIME() WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND state IN ('DEAD LETTER', 'FAILED') AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j)
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- discard
UPDATE [shop].[rowrelay_claims_events] SET state = 'DISCARDED', next_attempt_at = NULL, last_error = CAST(@p1 AS nvarchar(4000)) WHERE outbox = CAST(@p2 AS nvarchar(4000)) AND state IN ('DEAD LETTER', 'FAILED') AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p3) AS j)
--   by ann
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- discard waiting
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 'DISCARDED', 0, CAST(@p2 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND o.[Id] IN (CAST(CAST(@p3 AS nvarchar(4000)) AS uniqueidentifier)) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p4 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- clean-up looks
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CASE WHEN o.[Status] = N'Sent' AND o.[Sent] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p1 % 1000 AS int), DATEADD(second, -CAST(@p1 / 1000 AS int), SYSUTCDATETIME())), '+00:00') THEN 1 ELSE 0 END, CASE WHEN o.[Status] = N'Sent' AND o.[Sent] >= TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p2 % 1000 AS int), DATEADD(second, -CAST(@p2 / 1000 AS int), SYSUTCDATETIME())), '+00:00') THEN 1 ELSE 0 END FROM [shop].[outbox] o WHERE 1 = 1 AND o.[Added] >= TODATETIMEOFFSET(CAST(CAST(@p3 AS nvarchar(4000)) AS datetime2(7)), '+00:00') AND (o.[Added] > TODATETIMEOFFSET(CAST(CAST(@p4 AS nvarchar(4000)) AS datetime2(7)), '+00:00') OR CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 > CAST(@p5 AS nvarchar(4000))) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p6 ROWS ONLY
--   3600000
--   3600000
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- clean-up deletes
DELETE FROM [shop].[outbox] WHERE [shop].[outbox].[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND [shop].[outbox].[Status] = N'Sent' AND [shop].[outbox].[Sent] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p2 % 1000 AS int), DATEADD(second, -CAST(@p2 / 1000 AS int), SYSUTCDATETIME())), '+00:00')
--   0b5ab1a0-0000-4000-8000-000000000001
--   3600000
