-- look
SELECT COALESCE((SELECT 1 FROM [shop].[outbox] o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p2 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), (SELECT 1 FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p3 AS nvarchar(4000)) AND o.state IN ('FAILED') AND o.next_attempt_at <= SYSUTCDATETIME() ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), 0), COALESCE((SELECT 1 FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p4 AS nvarchar(4000)) AND 1 = 1 AND o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state <> 'WAITING' ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), 0), (SELECT COALESCE(p.info, '') FROM [shop].[rowrelay_claims] p WHERE p.outbox = CAST(@p5 AS nvarchar(4000)) AND p.unit = 'pause'), (SELECT n.info FROM [shop].[rowrelay_claims] n WHERE n.outbox = CAST(@p6 AS nvarchar(4000)) AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, '', COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, ''), NULL, NULL, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, NULL, NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= @p1 THEN o.[Body] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CASE WHEN CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 IS NOT NULL OR CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 IS NOT NULL THEN SYSUTCDATETIME() END, 0 FROM (SELECT o.[Id] FROM [shop].[outbox] o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p3 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.[Added], o.[Id] OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY) k JOIN [shop].[outbox] o ON o.[Id] = k.[Id] ORDER BY o.[Added], o.[Id]
--   4194304
--   shop.outbox
--   shop.outbox
--   501
-- others
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, '', COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, ''), NULL, NULL, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, NULL, NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= @p1 THEN o.[Body] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CASE WHEN CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 IS NOT NULL OR CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 IS NOT NULL THEN SYSUTCDATETIME() END, 0 FROM (SELECT o.[Id] FROM [shop].[outbox] o WHERE 1 = 1 AND NOT ('' = CAST(@p2 AS nvarchar(4000)) AND COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, '') = CAST(@p3 AS nvarchar(4000))) AND NOT ('' = CAST(@p4 AS nvarchar(4000)) AND COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, '') = CAST(@p5 AS nvarchar(4000))) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p7 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.[Added], o.[Id] OFFSET 0 ROWS FETCH NEXT @p8 ROWS ONLY) k JOIN [shop].[outbox] o ON o.[Id] = k.[Id] ORDER BY o.[Added], o.[Id]
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, '', COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, ''), NULL, NULL, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, NULL, NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= @p1 THEN o.[Body] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CASE WHEN CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 IS NOT NULL OR CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 IS NOT NULL THEN SYSUTCDATETIME() END, 0 FROM (SELECT o.[Id] FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p2 AS nvarchar(4000)) AS uniqueidentifier)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p3 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p4 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k JOIN [shop].[outbox] o ON o.[Id] = k.[Id] ORDER BY o.[Added], o.[Id]
--   4194304
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.state = 'FAILED' AND o.next_attempt_at <= SYSUTCDATETIME() AND (NOT (DATALENGTH(o.aggregate_id) / 2) > 0 OR (SELECT b.event FROM [shop].[rowrelay_claims_events] b WHERE b.outbox = CAST(@p2 AS nvarchar(4000)) AND b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.position, b.event OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) = o.event) ORDER BY o.next_attempt_at, o.position, o.event OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   shop.outbox
--   100
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, '', COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, ''), NULL, NULL, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 0, NULL, NULL, COALESCE((DATALENGTH(o.[Body]) / 2), 0), CASE WHEN COALESCE((DATALENGTH(o.[Body]) / 2), 0) <= @p1 THEN o.[Body] END, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CASE WHEN CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 IS NOT NULL OR CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Sent], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 IS NOT NULL THEN SYSUTCDATETIME() END, 0 FROM (SELECT o.[Id] FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p2 AS nvarchar(4000)) AS uniqueidentifier)) AND 1 = 1) k JOIN [shop].[outbox] o ON o.[Id] = k.[Id] ORDER BY o.[Added], o.[Id]
--   4194304
--   7
SELECT COALESCE(-MAX(DATEDIFF_BIG(millisecond, n.due, SYSUTCDATETIME())), -1) FROM (SELECT o.next_attempt_at AS due FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.state = 'FAILED' AND o.next_attempt_at > SYSUTCDATETIME() ORDER BY o.next_attempt_at OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY) n
--   shop.outbox
-- settle published
DELETE FROM [shop].[outbox] WHERE [shop].[outbox].[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND 1 = 1 AND (SELECT COUNT(*) FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p2 AS nvarchar(4000)) AND owner = CAST(@p3 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()) >= @p4
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
DELETE FROM [shop].[outbox] WHERE [shop].[outbox].[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND 1 = 1
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
-- settle what has a time
BEGIN
SELECT unit FROM [shop].[rowrelay_claims] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND owner = CAST(@p2 AS nvarchar(4000)) AND unit NOT LIKE 'i:%' AND expires_at > SYSUTCDATETIME()
--   shop.outbox
--   me
SELECT c.unit FROM OPENJSON(@p1) WITH (unit nvarchar(1000) '$.unit') AS r INNER LOOP JOIN [shop].[rowrelay_claims] AS c WITH (UPDLOCK, ROWLOCK) ON c.unit = r.unit COLLATE Latin1_General_100_BIN2 WHERE c.outbox = CAST(@p2 AS nvarchar(4000)) AND c.owner = CAST(@p3 AS nvarchar(4000)) AND c.expires_at > SYSUTCDATETIME() ORDER BY c.unit
--   [{"unit":"p0"}]
--   shop.outbox
--   me
DELETE FROM [shop].[outbox] WHERE [shop].[outbox].[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND 1 = 1
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM [shop].[rowrelay_claims_events] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j)
--   shop.outbox
--   ["0b5ab1a0-0000-4000-8000-000000000001","0b5ab1a0-0000-4000-8000-000000000001"]
UPDATE [shop].[rowrelay_claims_events] SET state = CAST(@p1 AS nvarchar(4000)), attempts = @p2, next_attempt_at = DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), last_error = CAST(@p4 AS nvarchar(4000)) WHERE outbox = CAST(@p5 AS nvarchar(4000)) AND event = CAST(@p6 AS nvarchar(4000)) AND state = 'FAILED' AND attempts IN (@p7, @p8)
--   FAILED
--   0
--   3600000
--   later
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   -1
--   0
COMMIT
-- mend
BEGIN
SELECT o.event FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p1 AS nvarchar(4000)) AND o.event > CAST(@p2 AS nvarchar(4000)) ORDER BY o.event OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
--   
--   1000
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p1 AS nvarchar(4000)) AS uniqueidentifier)) AND 1 = 1
--   7
DELETE FROM [shop].[rowrelay_claims_events] WHERE outbox = CAST(@p1 AS nvarchar(4000)) AND event IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p2) AS j)
--   shop.outbox
--   ["7"]
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p1 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p2 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p4 AS nvarchar(4000)) AND o.state IN ('FAILED') AND o.attempts = 0 AND o.next_attempt_at > SYSUTCDATETIME() ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p5 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p6 AS nvarchar(4000)) AND o.state IN ('FAILED') AND NOT (o.attempts = 0 AND o.next_attempt_at > SYSUTCDATETIME()) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p7 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[outbox] o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p8 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p9 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p10 ROWS ONLY) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM [shop].[rowrelay_claims_events] o WHERE o.outbox = CAST(@p11 AS nvarchar(4000)) AND o.state IN ('DEAD LETTER') ORDER BY (SELECT NULL) OFFSET 0 ROWS FETCH NEXT @p12 ROWS ONLY) n), (SELECT CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p13 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p14 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.[Added], o.[Id] OFFSET 0 ROWS FETCH NEXT 1 ROWS ONLY), SYSUTCDATETIME()
--   shop.outbox
--   shop.outbox
--   100001
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
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, ''), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, CAST(@p2 AS nvarchar(4000)), 2, DATEADD(millisecond, CAST(@p3 AS int), SYSUTCDATETIME()), CAST(@p4 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p5 AS nvarchar(4000)) AS uniqueidentifier)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p6 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
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
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > SYSUTCDATETIME() THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p1 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, s.next_attempt_at, s.last_error, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 0 OR 1 = 1 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p3 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR 1 = 1 AND s.state IS NULL AND EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p4 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR 1 = 1 AND s.state IN ('FAILED') AND NOT (s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > SYSUTCDATETIME()) OR 1 = 0) AND (1 = 0 OR o.[Id] = CAST(CAST(@p5 AS nvarchar(4000)) AS uniqueidentifier) OR o.[Id] = CAST(CAST(@p6 AS nvarchar(4000)) AS uniqueidentifier)) AND '' = CAST(@p7 AS nvarchar(4000)) AND COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, '') = CAST(@p8 AS nvarchar(4000)) AND NULL = CAST(@p9 AS nvarchar(4000)) AND o.[Added] <= TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p10 % 1000 AS int), DATEADD(second, -CAST(@p10 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[Added] > TODATETIMEOFFSET(DATEADD(millisecond, -CAST(@p11 % 1000 AS int), DATEADD(second, -CAST(@p11 / 1000 AS int), SYSUTCDATETIME())), '+00:00') AND o.[Added] >= TODATETIMEOFFSET(CAST(CAST(@p12 AS nvarchar(4000)) AS datetime2(7)), '+00:00') AND (o.[Added] > TODATETIMEOFFSET(CAST(CAST(@p13 AS nvarchar(4000)) AS datetime2(7)), '+00:00') OR o.[Id] > CAST(CAST(@p14 AS nvarchar(4000)) AS uniqueidentifier)) ORDER BY o.[Added], o.[Id] OFFSET 0 ROWS FETCH NEXT @p15 ROWS ONLY
--   shop.outbox
--   shop.outbox
--   shop.outbox
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
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > SYSUTCDATETIME() THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p1 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, s.next_attempt_at, s.last_error, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE (1 = 1 OR 1 = 0) ORDER BY o.[Added], o.[Id] OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY
--   shop.outbox
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
SELECT CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', COALESCE(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > SYSUTCDATETIME() THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] b WITH (REPEATABLEREAD) WHERE b.outbox = CAST(@p1 AS nvarchar(4000)) AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '') AND (DATALENGTH(b.aggregate_id) / 2) > 0 AND (b.position < CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 OR b.position = CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 AND b.event < CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, s.next_attempt_at, s.last_error, CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM [shop].[outbox] o LEFT JOIN [shop].[rowrelay_claims_events] s ON s.outbox = CAST(@p2 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 WHERE 1 = 1 AND (1 = 0 OR 1 = 1 AND s.state IN ('DEAD LETTER')) AND o.[Id] IN (CAST(CAST(@p3 AS nvarchar(4000)) AS uniqueidentifier)) ORDER BY o.[Added], o.[Id] OFFSET 0 ROWS FETCH NEXT @p4 ROWS ONLY
--   shop.outbox
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
INSERT INTO [shop].[rowrelay_claims_events] (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT CAST(@p1 AS nvarchar(4000)), CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, '', COALESCE(CAST(CASE WHEN DATALENGTH(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2) <= 510 THEN CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2 ELSE LEFT(CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2, 191) + CONVERT(char(64), HASHBYTES('SHA2_256', CAST(o.[Key] AS nvarchar(max)) COLLATE Latin1_General_100_BIN2), 2) END AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, ''), CAST(CONVERT(varchar(33), CAST(SWITCHOFFSET(o.[Added], '+00:00') AS datetime2(7)), 121) AS nvarchar(255)) COLLATE Latin1_General_100_BIN2, 'DISCARDED', 0, NULL, CAST(@p2 AS nvarchar(4000)) FROM [shop].[outbox] o WHERE o.[Id] IN (CAST(CAST(@p3 AS nvarchar(4000)) AS uniqueidentifier)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM [shop].[rowrelay_claims_events] s WITH (REPEATABLEREAD) WHERE s.outbox = CAST(@p4 AS nvarchar(4000)) AND s.event = CAST(o.[Id] AS nvarchar(255)) COLLATE Latin1_General_100_BIN2)
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
