-- take
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
BEGIN TRANSACTION;
DECLARE @got int = 0, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(), @valid bigint, @from bigint, @missed bigint = 0,
	@looked bit = 0, @taken int = 0, @dropped int = 0, @now datetime2(7);
DECLARE @page TABLE ([tenant] nvarchar(20) COLLATE Latin1_General_CI_AS NOT NULL, [id] bigint NOT NULL, rr_version bigint NOT NULL, rr_created bigint NOT NULL, rr_attempts int NOT NULL,
	rr_place int NOT NULL, rr_context varbinary(128) NULL, PRIMARY KEY ([tenant], [id]));
IF @head > @read OR EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[_az_func_LeaseExpirationTime] < SYSDATETIME()
	AND (l.[_az_func_AttemptCount] < 5 OR l.[_az_func_AttemptCount] >= 5 AND NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o
	WHERE o.[tenant] COLLATE Latin1_General_CI_AS = l.[tenant] AND o.[id] = l.[id] AND o.[rowrelay_dead] = 1 AND o.[rowrelay_version] >= l.[_az_func_ChangeVersion])))
BEGIN
EXEC @got = sp_getapplock @Resource = N'_az_func_Trigger', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = @wait;
IF @got < 0
BEGIN;
	THROW 51208, N'the application lock was not free in time', 1;
END;
SELECT @looked = 1, @head = CHANGE_TRACKING_CURRENT_VERSION(), @valid = CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]')), @now = SYSDATETIME();
SELECT @from = g.LastSyncVersion FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
IF @from < @valid
BEGIN
SET @missed = @valid - @from;
SET @from = @valid;
UPDATE [az_func].[GlobalState] SET LastSyncVersion = @from, LastAccessTime = GETUTCDATE() WHERE UserFunctionID = 'b5e6db7c2a5cc573' AND UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
END
IF @from IS NOT NULL
BEGIN
INSERT INTO @page ([tenant], [id], rr_version, rr_created, rr_attempts, rr_place, rr_context)
SELECT TOP (@rows) c.[tenant], c.[id], c.SYS_CHANGE_VERSION, CASE c.SYS_CHANGE_OPERATION WHEN N'I' THEN c.SYS_CHANGE_VERSION ELSE 0 END, COALESCE(l.[_az_func_AttemptCount], 0) + 1,
	ROW_NUMBER() OVER (ORDER BY c.SYS_CHANGE_VERSION, c.[tenant], c.[id]), c.SYS_CHANGE_CONTEXT
FROM CHANGETABLE(CHANGES [dbo].[or'ders], @from) AS c
LEFT JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND l.[id] = c.[id]
WHERE ((l.[_az_func_LeaseExpirationTime] IS NULL AND (l.[_az_func_ChangeVersion] IS NULL OR l.[_az_func_ChangeVersion] < c.SYS_CHANGE_VERSION))
	OR l.[_az_func_LeaseExpirationTime] < @now) AND (l.[_az_func_AttemptCount] IS NULL OR l.[_az_func_AttemptCount] < 5)
ORDER BY c.SYS_CHANGE_VERSION, c.[tenant], c.[id];
SET @taken = @@ROWCOUNT;
INSERT INTO @page ([tenant], [id], rr_version, rr_created, rr_attempts, rr_place, rr_context)
SELECT TOP (@rows) c.[tenant], c.[id], c.SYS_CHANGE_VERSION, CASE c.SYS_CHANGE_OPERATION WHEN N'I' THEN c.SYS_CHANGE_VERSION ELSE 0 END, -l.[_az_func_AttemptCount],
	@taken + ROW_NUMBER() OVER (ORDER BY c.SYS_CHANGE_VERSION, c.[tenant], c.[id]), c.SYS_CHANGE_CONTEXT
FROM CHANGETABLE(CHANGES [dbo].[or'ders], @from) AS c
JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND l.[id] = c.[id]
WHERE l.[_az_func_LeaseExpirationTime] < @now AND l.[_az_func_AttemptCount] >= 5 AND NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o
	WHERE o.[tenant] COLLATE Latin1_General_CI_AS = l.[tenant] AND o.[id] = l.[id] AND o.[rowrelay_dead] = 1 AND o.[rowrelay_version] >= c.SYS_CHANGE_VERSION)
ORDER BY c.SYS_CHANGE_VERSION, c.[tenant], c.[id];
SET @dropped = @@ROWCOUNT;
UPDATE l SET [_az_func_ChangeVersion] = p.rr_version, [_az_func_AttemptCount] = p.rr_attempts, [_az_func_LeaseExpirationTime] = DATEADD(millisecond, @ttl, @now)
FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l JOIN @page AS p ON l.[tenant] COLLATE Latin1_General_CI_AS = p.[tenant] AND l.[id] = p.[id] WHERE p.rr_attempts > 0;
INSERT INTO [az_func].[Leases_b5e6db7c2a5cc573_901578250] ([tenant], [id], [_az_func_ChangeVersion], [_az_func_AttemptCount], [_az_func_LeaseExpirationTime])
SELECT p.[tenant], p.[id], p.rr_version, p.rr_attempts, DATEADD(millisecond, @ttl, @now) FROM @page AS p
WHERE p.rr_attempts > 0 AND NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[tenant] COLLATE Latin1_General_CI_AS = p.[tenant] AND l.[id] = p.[id]);
END
END
SELECT TOP (200) r.[id] FROM (SELECT p.[tenant], p.[id], p.rr_version AS [rowrelay_version], p.rr_created AS [rowrelay_created], 1 AS [rowrelay_gone], p.rr_place AS [rowrelay_place], p.rr_attempts AS [rowrelay_attempts], CAST(NULL AS varbinary(4100)) AS [rowrelay_mask], p.rr_context AS [rowrelay_context],
		(SELECT p.[tenant] AS k0, p.[id] AS k1, p.rr_version AS v FOR JSON PATH, WITHOUT_ARRAY_WRAPPER) AS [rowrelay_key]
		FROM @page AS p) AS r;
SET @told = (SELECT @head AS Head, COALESCE(@from, 0) AS [From], COALESCE(@valid, 0) AS Valid, @looked AS Looked,
	CAST(CASE WHEN @looked = 0 OR @from IS NOT NULL THEN 1 ELSE 0 END AS bit) AS Known,
	@missed AS Missed, @taken AS Held, @dropped AS Dropped FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

-- renew
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRANSACTION;
DECLARE @got int = 0;
EXEC @got = sp_getapplock @Resource = N'_az_func_Trigger', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = @wait;
IF @got < 0
BEGIN;
	THROW 51208, N'the application lock was not free in time', 1;
END;
DECLARE @held int;
UPDATE l SET [_az_func_LeaseExpirationTime] = DATEADD(millisecond, @ttl, SYSDATETIME())
FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l JOIN (SELECT n.[tenant], n.[id] FROM OPENJSON(@marks) WITH (k nvarchar(max), d bit, x bit, a int, r nvarchar(1000)) AS j
CROSS APPLY OPENJSON(j.k) WITH ([tenant] nvarchar(20) '$.k0', [id] bigint '$.k1', rr_version bigint '$.v') AS n) AS m ON l.[tenant] COLLATE Latin1_General_CI_AS = m.[tenant] AND l.[id] = m.[id];
SET @held = @@ROWCOUNT;
SET @told = (SELECT @held AS Held FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

-- settle
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRANSACTION;
DECLARE @got int = 0;
EXEC @got = sp_getapplock @Resource = N'_az_func_Trigger', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = @wait;
IF @got < 0
BEGIN;
	THROW 51208, N'the application lock was not free in time', 1;
END;
DECLARE @asked int, @from bigint, @to bigint, @waiting int;
DECLARE @list TABLE ([tenant] nvarchar(20) COLLATE Latin1_General_CI_AS NOT NULL, [id] bigint NOT NULL, rr_version bigint NOT NULL, rr_done bit NOT NULL, rr_dead bit NOT NULL, rr_attempts int NOT NULL,
	rr_reason nvarchar(1000) NULL, PRIMARY KEY ([tenant], [id]));
INSERT INTO @list ([tenant], [id], rr_version, rr_done, rr_dead, rr_attempts, rr_reason)
SELECT n.[tenant], n.[id], n.rr_version, j.d, j.x, j.a, j.r
FROM OPENJSON(@marks) WITH (k nvarchar(max), d bit, x bit, a int, r nvarchar(1000)) AS j
CROSS APPLY OPENJSON(j.k) WITH ([tenant] nvarchar(20) '$.k0', [id] bigint '$.k1', rr_version bigint '$.v') AS n;
SET @asked = @@ROWCOUNT;
UPDATE l SET [_az_func_ChangeVersion] = m.rr_version, [_az_func_AttemptCount] = 0, [_az_func_LeaseExpirationTime] = NULL
FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l JOIN @list AS m ON l.[tenant] COLLATE Latin1_General_CI_AS = m.[tenant] AND l.[id] = m.[id] WHERE m.rr_done = 1 AND l.[_az_func_ChangeVersion] <= m.rr_version;
UPDATE o SET [rowrelay_version] = m.rr_version, [rowrelay_attempts] = m.rr_attempts, [rowrelay_reason] = m.rr_reason, [rowrelay_dead] = 1, [rowrelay_token] = 0,
	[rowrelay_expires] = NULL, [rowrelay_again] = NULL
FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o JOIN @list AS m ON o.[tenant] COLLATE Latin1_General_CI_AS = m.[tenant] AND o.[id] = m.[id] WHERE m.rr_dead = 1;
INSERT INTO [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] ([tenant], [id], [rowrelay_version], [rowrelay_created], [rowrelay_since], [rowrelay_token],
	[rowrelay_batch], [rowrelay_place], [rowrelay_attempts], [rowrelay_reason], [rowrelay_dead])
SELECT m.[tenant], m.[id], m.rr_version, 0, 0, 0, 0, 0, m.rr_attempts, m.rr_reason, 1 FROM @list AS m
WHERE m.rr_dead = 1 AND NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE o.[tenant] COLLATE Latin1_General_CI_AS = m.[tenant] AND o.[id] = m.[id]);
SELECT @to = MAX(m.rr_version) FROM @list AS m WHERE m.rr_done = 1 AND m.rr_version < (SELECT MAX(n.rr_version) FROM @list AS n WHERE n.rr_done = 1);
IF @to IS NULL
	SELECT @to = MAX(m.rr_version) FROM @list AS m WHERE m.rr_done = 1;
SELECT @from = g.LastSyncVersion FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
IF @to > @from
BEGIN
SELECT @waiting = COUNT(*) FROM CHANGETABLE(CHANGES [dbo].[or'ders], @from) AS c
LEFT JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND l.[id] = c.[id]
WHERE c.SYS_CHANGE_VERSION <= @to
	AND (l.[_az_func_ChangeVersion] IS NULL OR l.[_az_func_ChangeVersion] <> c.SYS_CHANGE_VERSION OR l.[_az_func_LeaseExpirationTime] IS NOT NULL)
	AND (l.[_az_func_AttemptCount] IS NULL OR l.[_az_func_AttemptCount] < 5 OR l.[_az_func_AttemptCount] >= 5 AND NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o
	WHERE o.[tenant] COLLATE Latin1_General_CI_AS = l.[tenant] AND o.[id] = l.[id] AND o.[rowrelay_dead] = 1 AND o.[rowrelay_version] >= c.SYS_CHANGE_VERSION));
IF @waiting = 0
BEGIN
UPDATE [az_func].[GlobalState] SET LastSyncVersion = @to, LastAccessTime = GETUTCDATE() WHERE UserFunctionID = 'b5e6db7c2a5cc573' AND UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
DELETE l FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[_az_func_ChangeVersion] <= @to;
END
END
SET @told = (SELECT @asked AS Held, @asked AS Asked FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

-- show
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRANSACTION;
DECLARE @from bigint, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(), @valid bigint = CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]')),
	@waiting bigint = 0;
SELECT @from = g.LastSyncVersion FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
IF @from IS NOT NULL
	SELECT @waiting = COUNT_BIG(*) FROM CHANGETABLE(CHANGES [dbo].[or'ders], @from) AS c
	LEFT JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND l.[id] = c.[id]
	WHERE ((l.[_az_func_LeaseExpirationTime] IS NULL AND (l.[_az_func_ChangeVersion] IS NULL OR l.[_az_func_ChangeVersion] < c.SYS_CHANGE_VERSION))
		OR l.[_az_func_LeaseExpirationTime] < SYSDATETIME()) AND (l.[_az_func_AttemptCount] IS NULL OR l.[_az_func_AttemptCount] < 5);
SET @told = (SELECT @head AS Head, COALESCE(@from, 0) AS [From], COALESCE(@valid, 0) AS Valid, @waiting AS Waiting,
	CAST(CASE WHEN @from IS NULL THEN 0 ELSE 1 END AS bit) AS Known,
	(SELECT COUNT(*) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[_az_func_LeaseExpirationTime] >= SYSDATETIME()) AS Leased,
	(SELECT COUNT(*) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[_az_func_LeaseExpirationTime] < SYSDATETIME() AND l.[_az_func_AttemptCount] < 5) AS Parked,
	(SELECT COUNT(*) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE o.[rowrelay_dead] = 1) AS Gone FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

