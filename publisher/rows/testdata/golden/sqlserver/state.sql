-- look
SELECT COALESCE((SELECT 1 FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), (SELECT 1 FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p2 AS nvarchar(4000)) AND o.state = 'FAILED' AND o.next_attempt_at <= SYSUTCDATETIME() ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), 0), COALESCE((SELECT 1 FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p3 AS nvarchar(4000)) AND 1 = 1 AND o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state <> 'WAITING' ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), 0), (SELECT COALESCE(p.info, '') FROM [shop].[rowrelay_claims] p WHERE p.outbox = CAST(@p4 AS nvarchar(4000)) AND p.unit = 'pause'), (SELECT n.info FROM [shop].[rowrelay_claims] n WHERE n.outbox = CAST(@p5 AS nvarchar(4000)) AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, '', '', NULL, NULL, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, NULL, NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= @p1 THEN o.[Body] END, 0 FROM (SELECT o.[Id] FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) k JOIN [shop].[outbox] o ON o.[Id] = k.[Id] ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2
--   4194304
--   shop.outbox
--   501
-- others
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, '', '', NULL, NULL, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, NULL, NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= @p1 THEN o.[Body] END, 0 FROM (SELECT o.[Id] FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT ('' = CAST(@p2 AS nvarchar(4000)) AND '' = CAST(@p3 AS nvarchar(4000))) AND NOT ('' = CAST(@p4 AS nvarchar(4000)) AND '' = CAST(@p5 AS nvarchar(4000))) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p7 ROWS ONLY) k JOIN [shop].[outbox] o ON o.[Id] = k.[Id] ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   1
-- again
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, '', '', NULL, NULL, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, NULL, NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= @p1 THEN o.[Body] END, 0 FROM (SELECT o.[Id] FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p2 AS nvarchar(4000)) AS uniqueidentifier)) AND o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p3 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)) k JOIN [shop].[outbox] o ON o.[Id] = k.[Id] ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2
--   4194304
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.state = 'FAILED' AND o.next_attempt_at <= SYSUTCDATETIME() ORDER BY o.next_attempt_at, o.position, o.event OFFSET 0 ROWS FETCH NEXT @p2 ROWS ONLY
--   shop.outbox
--   100
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, '', '', NULL, NULL, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, NULL, NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= @p1 THEN o.[Body] END, 0 FROM (SELECT o.[Id] FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p2 AS nvarchar(4000)) AS uniqueidentifier)) AND o.[Status] = N'New') k JOIN [shop].[outbox] o ON o.[Id] = k.[Id] ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2
--   4194304
--   7
SELECT COALESCE(-MAX(DATEDIFF_BIG(millisecond, n.due, SYSUTCDATETIME())), -1) FROM (SELECT o.next_attempt_at AS due FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.state = 'FAILED' AND o.next_attempt_at > SYSUTCDATETIME() ORDER BY o.next_attempt_at OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) n
--   shop.outbox
-- settle published
UPDATE [shop].[outbox] SET [Status] = N'Sent', [Sent] = TODATETIMEOFFSET(SYSUTCDATETIME(), '+00:00') WHERE [shop].[outbox].[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND [shop].[outbox].[Status] = N'New' AND (SELECT COUNT(*) FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p2 AS nvarchar(4000)) AND owner = CAST(@p3 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()) >= @p4
--   0b5ab1a0-0000-4000-8000-000000000001
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
UPDATE [shop].[outbox] SET [Status] = N'Sent', [Sent] = TODATETIMEOFFSET(SYSUTCDATETIME(), '+00:00') WHERE [shop].[outbox].[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND [shop].[outbox].[Status] = N'New'
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM [shop].[rowrelay_claims_events] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j)
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
UPDATE [shop].[rowrelay_claims_events] SET state = CAST(@p1 AS nvarchar(4000)), attempts = @p2, next_attempt_at = DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), last_error = CAST(@p4 AS nvarchar(4000)) WHERE outbox = CAST(@p5 AS nvarchar(4000)) AND event = CAST(@p6 AS nvarchar(4000)) AND state = 'FAILED' AND attempts IN (@p7, @p8)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
COMMIT
-- mend
BEGIN
SELECT o.event FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.event > CAST(@p2 AS nvarchar(4000)) ORDER BY o.event OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   
--   1000
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND o.[Status] = N'New'
--   7
DELETE FROM [shop].[rowrelay_claims_events] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j)
--   shop.outbox
--   ["7"]
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p2 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p3 AS nvarchar(4000)) AND o.state = 'FAILED' ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p5 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND 1 = 0 ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p6 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p7 AS nvarchar(4000)) AND o.state = 'DEAD LETTER' ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p8 ROWS ONLY) n), (SELECT CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o WHERE o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p9 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), SYSUTCDATETIME()
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
-- failed for the first time
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(@p2 AS nvarchar(4000)), 2, DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), CAST(@p4 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p5 AS nvarchar(4000)) AS uniqueidentifier)) AND o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   FAILED
--   5000
--   422
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- given up
UPDATE [shop].[rowrelay_claims_events] SET state = CAST(@p1 AS nvarchar(4000)), attempts = @p2, next_attempt_at = NULL, last_error = CAST(@p3 AS nvarchar(4000)) WHERE outbox = CAST(@p4 AS nvarchar(4000)) AND event = CAST(@p5 AS nvarchar(4000)) AND state = 'FAILED' AND attempts IN (@p6, @p7)
--   DEAD LETTER
--   2
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
-- list
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, NULL, CASE WHEN NOT (o.[Status] = N'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN 1 = 0 THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, s.next_attempt_at, s.last_error, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 0 OR o.[Status] = N'New' AND s.state IS NULL AND NOT 1 = 0 OR o.[Status] = N'New' AND s.state IS NULL AND 1 = 0 OR o.[Status] = N'New' AND s.state = 'FAILED' OR o.[Status] = N'Sent') AND (1 = 0 OR o.[Id] = CAST(CAST(@p2 AS nvarchar(4000)) AS uniqueidentifier) OR o.[Id] = CAST(CAST(@p3 AS nvarchar(4000)) AS uniqueidentifier)) AND '' = CAST(@p4 AS nvarchar(4000)) AND '' = CAST(@p5 AS nvarchar(4000)) AND NULL = CAST(@p6 AS nvarchar(4000)) AND o.[Added] <= TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p7 % 1000 AS int), DATEADD(second, -CAST(@p7 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[Added] > TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p8 % 1000 AS int), DATEADD(second, -CAST(@p8 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[Added] >= TODATETIMEOFFSET(CAST(CAST(@p9 AS nvarchar(4000)) AS datetime2(7)), '+00:00') AND (o.[Added] > TODATETIMEOFFSET(CAST(CAST(@p10 AS nvarchar(4000)) AS datetime2(7)), '+00:00') OR CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 > CAST(@p11 AS nvarchar(4000))) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p12 ROWS ONLY
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
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, NULL, CASE WHEN NOT (o.[Status] = N'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN 1 = 0 THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, s.next_attempt_at, s.last_error, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (o.[Status] = N'New' OR o.[Status] = N'Sent') ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p2 ROWS ONLY
--   shop.outbox
--   1000
-- list dead letters: keys
SELECT o.event, o.position FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.state IN ('DEAD LETTER') AND (o.position > CAST(@p2 AS nvarchar(4000)) OR (o.position = CAST(@p3 AS nvarchar(4000)) AND o.event > CAST(@p4 AS nvarchar(4000)))) ORDER BY o.position, o.event OFFSET 0 ROWS FETCH NEXT @p5 ROWS ONLY
--   shop.outbox
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list dead letters
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', NULL, NULL, CASE WHEN NOT (o.[Status] = N'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN 1 = 0 THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, s.next_attempt_at, s.last_error, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 0 OR o.[Status] = N'New' AND s.state = 'DEAD LETTER') AND o.[Id] IN (CAST(CAST(@p2 AS nvarchar(4000)) AS uniqueidentifier)) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- requeue
UPDATE [shop].[rowrelay_claims_events] SET state = 'FAILED', attempts = 0, next_attempt_at = SYSUTCDATETIME() WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j) AND state IN ('DEAD LETTER', 'FAILED')
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- discard
UPDATE [shop].[rowrelay_claims_events] SET state = 'DISCARDED', next_attempt_at = NULL, last_error = CAST(@p1 AS nvarchar(4000)) WHERE outbox = CAST(@p2 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p3) AS j) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001"]
-- discard waiting
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', '', CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 'DISCARDED', 0, NULL, CAST(@p2 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p3 AS nvarchar(4000)) AS uniqueidentifier)) AND o.[Status] = N'New' AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p4 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- clean-up looks
SELECT CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CASE WHEN o.[Status] = N'Sent' AND o.[Sent] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p1 % 1000 AS int), DATEADD(second, -CAST(@p1 / 1000 AS int), SYSUTCDATETIME())), '+00:00') THEN 2 WHEN o.[Status] = N'Sent' AND o.[Sent] >= TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p2 % 1000 AS int), DATEADD(second, -CAST(@p2 / 1000 AS int), SYSUTCDATETIME())), '+00:00') THEN 0 ELSE 1 END FROM [shop].[outbox] o WHERE o.[Added] >= TODATETIMEOFFSET(CAST(CAST(@p3 AS nvarchar(4000)) AS datetime2(7)), '+00:00') AND (o.[Added] > TODATETIMEOFFSET(CAST(CAST(@p4 AS nvarchar(4000)) AS datetime2(7)), '+00:00') OR CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 > CAST(@p5 AS nvarchar(4000))) ORDER BY o.[Added], CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OFFSET 0 ROWS FETCH NEXT @p6 ROWS ONLY
--   2592000000
--   2592000000
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- clean-up deletes
DELETE FROM [shop].[outbox] WHERE [shop].[outbox].[Added] <= TODATETIMEOFFSET(CAST(CAST(@p1 AS nvarchar(4000)) AS datetime2(7)), '+00:00') AND ([shop].[outbox].[Added] < TODATETIMEOFFSET(CAST(CAST(@p2 AS nvarchar(4000)) AS datetime2(7)), '+00:00') OR CAST([shop].[outbox].[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 <= CAST(@p3 AS nvarchar(4000))) AND [shop].[outbox].[Status] = N'Sent' AND [shop].[outbox].[Sent] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p4 % 1000 AS int), DATEADD(second, -CAST(@p4 / 1000 AS int), SYSUTCDATETIME())), '+00:00')
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   2592000000
-- clean-up deletes after a page
DELETE FROM [shop].[outbox] WHERE [shop].[outbox].[Added] >= TODATETIMEOFFSET(CAST(CAST(@p1 AS nvarchar(4000)) AS datetime2(7)), '+00:00') AND ([shop].[outbox].[Added] > TODATETIMEOFFSET(CAST(CAST(@p2 AS nvarchar(4000)) AS datetime2(7)), '+00:00') OR CAST([shop].[outbox].[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 > CAST(@p3 AS nvarchar(4000))) AND [shop].[outbox].[Added] <= TODATETIMEOFFSET(CAST(CAST(@p4 AS nvarchar(4000)) AS datetime2(7)), '+00:00') AND ([shop].[outbox].[Added] < TODATETIMEOFFSET(CAST(CAST(@p5 AS nvarchar(4000)) AS datetime2(7)), '+00:00') OR CAST([shop].[outbox].[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 <= CAST(@p6 AS nvarchar(4000))) AND [shop].[outbox].[Status] = N'Sent' AND [shop].[outbox].[Sent] < TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p7 % 1000 AS int), DATEADD(second, -CAST(@p7 / 1000 AS int), SYSUTCDATETIME())), '+00:00')
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   2592000000
