-- make
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
IF SCHEMA_ID(N'az_func') IS NULL
	EXEC (N'CREATE SCHEMA [az_func]');
IF OBJECT_ID(N'[az_func].[GlobalState]', N'U') IS NULL
	CREATE TABLE [az_func].[GlobalState] (
		UserFunctionID char(16) NOT NULL, UserTableID int NOT NULL, LastSyncVersion bigint NOT NULL,
		LastAccessTime datetime NOT NULL DEFAULT(GETUTCDATE()), PRIMARY KEY (UserFunctionID, UserTableID));
IF COL_LENGTH(N'[az_func].[GlobalState]', N'LastAccessTime') IS NULL
	ALTER TABLE [az_func].[GlobalState] ADD LastAccessTime datetime NOT NULL DEFAULT(GETUTCDATE());
IF OBJECT_ID(N'[az_func].[RowrelayTokens]', N'U') IS NULL
	CREATE TABLE [az_func].[RowrelayTokens] (UserFunctionID char(16) NOT NULL, UserTableID int NOT NULL, Token bigint NOT NULL,
		PRIMARY KEY (UserFunctionID, UserTableID));
DECLARE @made bit = CASE WHEN OBJECT_ID(N'[az_func].[Leases_b5e6db7c2a5cc573_901578250]', N'U') IS NULL THEN 1 ELSE 0 END;
IF OBJECT_ID(N'[az_func].[Leases_b5e6db7c2a5cc573_901578250]', N'U') IS NULL
	CREATE TABLE [az_func].[Leases_b5e6db7c2a5cc573_901578250] ([tenant] nvarchar(20) COLLATE Latin1_General_CI_AS NOT NULL, [id] bigint NOT NULL, [_az_func_ChangeVersion] bigint NOT NULL, [_az_func_AttemptCount] int NOT NULL, [_az_func_LeaseExpirationTime] datetime2 NULL,
		PRIMARY KEY ([tenant], [id]));
IF OBJECT_ID(N'[az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay]', N'U') IS NULL
	CREATE TABLE [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] ([tenant] nvarchar(20) COLLATE Latin1_General_CI_AS NOT NULL, [id] bigint NOT NULL, [rowrelay_version] bigint NOT NULL, [rowrelay_created] bigint NOT NULL, [rowrelay_since] bigint NOT NULL,
		[rowrelay_token] bigint NOT NULL, [rowrelay_batch] int NOT NULL, [rowrelay_place] int NOT NULL, [rowrelay_expires] datetime2 NULL,
		[rowrelay_attempts] int NOT NULL, [rowrelay_again] datetime2 NULL, [rowrelay_reason] nvarchar(1000) NULL, [rowrelay_dead] bit NOT NULL,
		INDEX rowrelay_token ([rowrelay_token], [rowrelay_batch], [rowrelay_place]),
		PRIMARY KEY ([tenant], [id]));
IF NOT EXISTS (SELECT 1 FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]'))
	INSERT INTO [az_func].[GlobalState] (UserFunctionID, UserTableID, LastSyncVersion)
		VALUES ('b5e6db7c2a5cc573', OBJECT_ID(N'[dbo].[or''ders]'), CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]')));
EXEC (N'UPDATE [az_func].[GlobalState] SET LastAccessTime = GETUTCDATE() WHERE UserFunctionID = ''b5e6db7c2a5cc573'' AND UserTableID = OBJECT_ID(N''[dbo].[or''''ders]'')');
IF NOT EXISTS (SELECT 1 FROM [az_func].[RowrelayTokens] AS k WHERE k.UserFunctionID = 'b5e6db7c2a5cc573' AND k.UserTableID = OBJECT_ID(N'[dbo].[or''ders]'))
	INSERT INTO [az_func].[RowrelayTokens] (UserFunctionID, UserTableID, Token)
		VALUES ('b5e6db7c2a5cc573', OBJECT_ID(N'[dbo].[or''ders]'), 0);
SET @told = (SELECT @made AS Made FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

-- make, from the latest on
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
IF SCHEMA_ID(N'az_func') IS NULL
	EXEC (N'CREATE SCHEMA [az_func]');
IF OBJECT_ID(N'[az_func].[GlobalState]', N'U') IS NULL
	CREATE TABLE [az_func].[GlobalState] (
		UserFunctionID char(16) NOT NULL, UserTableID int NOT NULL, LastSyncVersion bigint NOT NULL,
		LastAccessTime datetime NOT NULL DEFAULT(GETUTCDATE()), PRIMARY KEY (UserFunctionID, UserTableID));
IF COL_LENGTH(N'[az_func].[GlobalState]', N'LastAccessTime') IS NULL
	ALTER TABLE [az_func].[GlobalState] ADD LastAccessTime datetime NOT NULL DEFAULT(GETUTCDATE());
IF OBJECT_ID(N'[az_func].[RowrelayTokens]', N'U') IS NULL
	CREATE TABLE [az_func].[RowrelayTokens] (UserFunctionID char(16) NOT NULL, UserTableID int NOT NULL, Token bigint NOT NULL,
		PRIMARY KEY (UserFunctionID, UserTableID));
DECLARE @made bit = CASE WHEN OBJECT_ID(N'[az_func].[Leases_b5e6db7c2a5cc573_901578250]', N'U') IS NULL THEN 1 ELSE 0 END;
IF OBJECT_ID(N'[az_func].[Leases_b5e6db7c2a5cc573_901578250]', N'U') IS NULL
	CREATE TABLE [az_func].[Leases_b5e6db7c2a5cc573_901578250] ([tenant] nvarchar(20) COLLATE Latin1_General_CI_AS NOT NULL, [id] bigint NOT NULL, [_az_func_ChangeVersion] bigint NOT NULL, [_az_func_AttemptCount] int NOT NULL, [_az_func_LeaseExpirationTime] datetime2 NULL,
		PRIMARY KEY ([tenant], [id]));
IF OBJECT_ID(N'[az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay]', N'U') IS NULL
	CREATE TABLE [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] ([tenant] nvarchar(20) COLLATE Latin1_General_CI_AS NOT NULL, [id] bigint NOT NULL, [rowrelay_version] bigint NOT NULL, [rowrelay_created] bigint NOT NULL, [rowrelay_since] bigint NOT NULL,
		[rowrelay_token] bigint NOT NULL, [rowrelay_batch] int NOT NULL, [rowrelay_place] int NOT NULL, [rowrelay_expires] datetime2 NULL,
		[rowrelay_attempts] int NOT NULL, [rowrelay_again] datetime2 NULL, [rowrelay_reason] nvarchar(1000) NULL, [rowrelay_dead] bit NOT NULL,
		INDEX rowrelay_token ([rowrelay_token], [rowrelay_batch], [rowrelay_place]),
		PRIMARY KEY ([tenant], [id]));
IF NOT EXISTS (SELECT 1 FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]'))
	INSERT INTO [az_func].[GlobalState] (UserFunctionID, UserTableID, LastSyncVersion)
		VALUES ('b5e6db7c2a5cc573', OBJECT_ID(N'[dbo].[or''ders]'), CHANGE_TRACKING_CURRENT_VERSION());
EXEC (N'UPDATE [az_func].[GlobalState] SET LastAccessTime = GETUTCDATE() WHERE UserFunctionID = ''b5e6db7c2a5cc573'' AND UserTableID = OBJECT_ID(N''[dbo].[or''''ders]'')');
IF NOT EXISTS (SELECT 1 FROM [az_func].[RowrelayTokens] AS k WHERE k.UserFunctionID = 'b5e6db7c2a5cc573' AND k.UserTableID = OBJECT_ID(N'[dbo].[or''ders]'))
	INSERT INTO [az_func].[RowrelayTokens] (UserFunctionID, UserTableID, Token)
		VALUES ('b5e6db7c2a5cc573', OBJECT_ID(N'[dbo].[or''ders]'), 0);
SET @told = (SELECT @made AS Made FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

-- make, with an older id
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
IF SCHEMA_ID(N'az_func') IS NULL
	EXEC (N'CREATE SCHEMA [az_func]');
IF OBJECT_ID(N'[az_func].[GlobalState]', N'U') IS NULL
	CREATE TABLE [az_func].[GlobalState] (
		UserFunctionID char(16) NOT NULL, UserTableID int NOT NULL, LastSyncVersion bigint NOT NULL,
		LastAccessTime datetime NOT NULL DEFAULT(GETUTCDATE()), PRIMARY KEY (UserFunctionID, UserTableID));
IF COL_LENGTH(N'[az_func].[GlobalState]', N'LastAccessTime') IS NULL
	ALTER TABLE [az_func].[GlobalState] ADD LastAccessTime datetime NOT NULL DEFAULT(GETUTCDATE());
IF OBJECT_ID(N'[az_func].[RowrelayTokens]', N'U') IS NULL
	CREATE TABLE [az_func].[RowrelayTokens] (UserFunctionID char(16) NOT NULL, UserTableID int NOT NULL, Token bigint NOT NULL,
		PRIMARY KEY (UserFunctionID, UserTableID));
DECLARE @made bit = CASE WHEN OBJECT_ID(N'[az_func].[Leases_b5e6db7c2a5cc573_901578250]', N'U') IS NULL THEN 1 ELSE 0 END;
IF OBJECT_ID(N'[az_func].[Leases_b5e6db7c2a5cc573_901578250]', N'U') IS NULL
	CREATE TABLE [az_func].[Leases_b5e6db7c2a5cc573_901578250] ([tenant] nvarchar(20) COLLATE Latin1_General_CI_AS NOT NULL, [id] bigint NOT NULL, [_az_func_ChangeVersion] bigint NOT NULL, [_az_func_AttemptCount] int NOT NULL, [_az_func_LeaseExpirationTime] datetime2 NULL,
		PRIMARY KEY ([tenant], [id]));
IF OBJECT_ID(N'[az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay]', N'U') IS NULL
	CREATE TABLE [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] ([tenant] nvarchar(20) COLLATE Latin1_General_CI_AS NOT NULL, [id] bigint NOT NULL, [rowrelay_version] bigint NOT NULL, [rowrelay_created] bigint NOT NULL, [rowrelay_since] bigint NOT NULL,
		[rowrelay_token] bigint NOT NULL, [rowrelay_batch] int NOT NULL, [rowrelay_place] int NOT NULL, [rowrelay_expires] datetime2 NULL,
		[rowrelay_attempts] int NOT NULL, [rowrelay_again] datetime2 NULL, [rowrelay_reason] nvarchar(1000) NULL, [rowrelay_dead] bit NOT NULL,
		INDEX rowrelay_token ([rowrelay_token], [rowrelay_batch], [rowrelay_place]),
		PRIMARY KEY ([tenant], [id]));
IF NOT EXISTS (SELECT 1 FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]'))
	AND EXISTS (SELECT 1 FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = '0a1b2c3d4e5f6071' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]'))
BEGIN
INSERT INTO [az_func].[GlobalState] (UserFunctionID, UserTableID, LastSyncVersion)
SELECT 'b5e6db7c2a5cc573', g.UserTableID, g.LastSyncVersion FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = '0a1b2c3d4e5f6071' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
IF OBJECT_ID(N'[az_func].[Leases_0a1b2c3d4e5f6071_901578250]', N'U') IS NOT NULL
	EXEC (N'INSERT INTO [az_func].[Leases_b5e6db7c2a5cc573_901578250] ([tenant], [id], [_az_func_ChangeVersion], [_az_func_AttemptCount], [_az_func_LeaseExpirationTime]) SELECT l.[tenant], l.[id], l.[_az_func_ChangeVersion], l.[_az_func_AttemptCount], l.[_az_func_LeaseExpirationTime] FROM [az_func].[Leases_0a1b2c3d4e5f6071_901578250] AS l WHERE NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS n WHERE n.[tenant] COLLATE Latin1_General_CI_AS = l.[tenant] AND n.[id] = l.[id])');
DELETE FROM [az_func].[GlobalState] WHERE UserFunctionID = '0a1b2c3d4e5f6071' AND UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
END;
IF NOT EXISTS (SELECT 1 FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]'))
	INSERT INTO [az_func].[GlobalState] (UserFunctionID, UserTableID, LastSyncVersion)
		VALUES ('b5e6db7c2a5cc573', OBJECT_ID(N'[dbo].[or''ders]'), CHANGE_TRACKING_CURRENT_VERSION());
EXEC (N'UPDATE [az_func].[GlobalState] SET LastAccessTime = GETUTCDATE() WHERE UserFunctionID = ''b5e6db7c2a5cc573'' AND UserTableID = OBJECT_ID(N''[dbo].[or''''ders]'')');
IF NOT EXISTS (SELECT 1 FROM [az_func].[RowrelayTokens] AS k WHERE k.UserFunctionID = 'b5e6db7c2a5cc573' AND k.UserTableID = OBJECT_ID(N'[dbo].[or''ders]'))
	INSERT INTO [az_func].[RowrelayTokens] (UserFunctionID, UserTableID, Token)
		VALUES ('b5e6db7c2a5cc573', OBJECT_ID(N'[dbo].[or''ders]'), 0);
SET @told = (SELECT @made AS Made FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

-- take
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRANSACTION;
DECLARE @got int = 0, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(), @valid bigint, @from bigint, @to bigint,
	@looked bit = 0, @taken int = 0, @foreign int = 0, @until datetime2(7), @now datetime2(7), @local datetime2(7), @end datetime2(7);
DECLARE @page TABLE ([tenant] nvarchar(20) COLLATE Latin1_General_CI_AS NOT NULL, [id] bigint NOT NULL, rr_version bigint NOT NULL, rr_created bigint NOT NULL, rr_since bigint NOT NULL,
	rr_place int NOT NULL, rr_context varbinary(128) NULL, PRIMARY KEY ([tenant], [id]));
IF @head > @read OR EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[_az_func_LeaseExpirationTime] <= SYSUTCDATETIME()
	AND NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE l.[tenant] COLLATE Latin1_General_CI_AS = o.[tenant] AND l.[id] = o.[id] AND o.[rowrelay_again] > SYSUTCDATETIME()))
BEGIN
EXEC @got = sp_getapplock @Resource = N'_az_func_Trigger', @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = @wait;
IF @got < 0
BEGIN;
	THROW 51208, N'the application lock was not free in time', 1;
END;
SELECT @looked = 1, @head = CHANGE_TRACKING_CURRENT_VERSION(), @valid = CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]')),
	@now = SYSUTCDATETIME(), @local = SYSDATETIME(), @end = DATEADD(millisecond, @ttl, SYSUTCDATETIME());
SELECT @from = g.LastSyncVersion FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
SELECT @foreign = COUNT(*), @until = MAX(l.[_az_func_LeaseExpirationTime]) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l
WHERE l.[_az_func_LeaseExpirationTime] > @local AND NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE l.[tenant] COLLATE Latin1_General_CI_AS = o.[tenant] AND l.[id] = o.[id]
	AND o.[rowrelay_expires] = l.[_az_func_LeaseExpirationTime]);
IF @foreign = 0 AND @from >= @valid AND @from <= @head
BEGIN
INSERT INTO @page ([tenant], [id], rr_version, rr_created, rr_since, rr_place, rr_context)
SELECT TOP (@rows) c.[tenant], c.[id], c.SYS_CHANGE_VERSION,
	CASE WHEN c.SYS_CHANGE_CREATION_VERSION > s.since THEN c.SYS_CHANGE_VERSION ELSE 0 END, s.since,
	ROW_NUMBER() OVER (ORDER BY c.SYS_CHANGE_VERSION, c.[tenant], c.[id]), c.SYS_CHANGE_CONTEXT
FROM CHANGETABLE(CHANGES [dbo].[or'ders], @from) AS c
LEFT JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND l.[id] = c.[id]
LEFT JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o ON o.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND o.[id] = c.[id]
CROSS APPLY (SELECT CASE WHEN l.[_az_func_ChangeVersion] IS NOT NULL AND l.[_az_func_LeaseExpirationTime] IS NULL THEN l.[_az_func_ChangeVersion]
	ELSE COALESCE(o.[rowrelay_since], @from) END AS since) AS s
WHERE (l.[_az_func_ChangeVersion] IS NULL OR (l.[_az_func_LeaseExpirationTime] IS NULL AND l.[_az_func_ChangeVersion] < c.SYS_CHANGE_VERSION)
	OR l.[_az_func_LeaseExpirationTime] <= CASE WHEN o.[rowrelay_expires] = l.[_az_func_LeaseExpirationTime] THEN @now ELSE @local END)
	AND (o.[rowrelay_again] IS NULL OR o.[rowrelay_again] <= @now OR o.[rowrelay_version] < c.SYS_CHANGE_VERSION)
ORDER BY c.SYS_CHANGE_VERSION, c.[tenant], c.[id];
SET @taken = @@ROWCOUNT;
IF @taken > 0
BEGIN
IF @token = 0
	UPDATE [az_func].[RowrelayTokens] SET @token = Token = Token + 1 WHERE UserFunctionID = 'b5e6db7c2a5cc573' AND UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
UPDATE l SET [_az_func_ChangeVersion] = p.rr_version, [_az_func_AttemptCount] = 0, [_az_func_LeaseExpirationTime] = @end
FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l JOIN @page AS p ON l.[tenant] COLLATE Latin1_General_CI_AS = p.[tenant] AND l.[id] = p.[id];
INSERT INTO [az_func].[Leases_b5e6db7c2a5cc573_901578250] ([tenant], [id], [_az_func_ChangeVersion], [_az_func_AttemptCount], [_az_func_LeaseExpirationTime])
SELECT p.[tenant], p.[id], p.rr_version, 0, @end FROM @page AS p
WHERE NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[tenant] COLLATE Latin1_General_CI_AS = p.[tenant] AND l.[id] = p.[id]);
UPDATE o SET [rowrelay_attempts] = CASE WHEN o.[rowrelay_version] < p.rr_version THEN 0 ELSE o.[rowrelay_attempts] END,
	[rowrelay_version] = p.rr_version, [rowrelay_created] = p.rr_created, [rowrelay_since] = p.rr_since, [rowrelay_token] = @token,
	[rowrelay_batch] = @batch, [rowrelay_place] = p.rr_place, [rowrelay_expires] = @end, [rowrelay_again] = NULL, [rowrelay_dead] = 0
FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o JOIN @page AS p ON o.[tenant] COLLATE Latin1_General_CI_AS = p.[tenant] AND o.[id] = p.[id];
INSERT INTO [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] ([tenant], [id], [rowrelay_version], [rowrelay_created], [rowrelay_since], [rowrelay_token],
	[rowrelay_batch], [rowrelay_place], [rowrelay_expires], [rowrelay_attempts], [rowrelay_dead])
SELECT p.[tenant], p.[id], p.rr_version, p.rr_created, p.rr_since, @token, @batch, p.rr_place, @end, 0, 0 FROM @page AS p
WHERE NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE o.[tenant] COLLATE Latin1_General_CI_AS = p.[tenant] AND o.[id] = p.[id]);
END
ELSE
BEGIN
SELECT @to = MIN(c.SYS_CHANGE_VERSION) - 1 FROM CHANGETABLE(CHANGES [dbo].[or'ders], @from) AS c
LEFT JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND l.[id] = c.[id]
WHERE l.[_az_func_ChangeVersion] IS NULL OR l.[_az_func_ChangeVersion] < c.SYS_CHANGE_VERSION OR l.[_az_func_LeaseExpirationTime] IS NOT NULL;
SET @to = CASE WHEN @to < @head THEN @to ELSE @head END;
IF @to > @from
BEGIN
UPDATE [az_func].[GlobalState] SET LastSyncVersion = @to, LastAccessTime = GETUTCDATE() WHERE UserFunctionID = 'b5e6db7c2a5cc573' AND UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
DELETE o FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = o.[tenant] AND l.[id] = o.[id] WHERE l.[_az_func_ChangeVersion] <= @to AND l.[_az_func_LeaseExpirationTime] IS NULL AND o.[rowrelay_dead] = 0;
DELETE l FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[_az_func_ChangeVersion] <= @to AND l.[_az_func_LeaseExpirationTime] IS NULL;
SET @from = @to;
END
END
END
END
SELECT TOP (100) r.[id] FROM (SELECT o.[tenant], o.[id], o.[rowrelay_version], o.[rowrelay_created], 1 AS [rowrelay_gone], o.[rowrelay_place], o.[rowrelay_attempts], CAST(NULL AS varbinary(4100)) AS [rowrelay_mask], p.rr_context AS [rowrelay_context]
		FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o LEFT JOIN @page AS p ON o.[tenant] COLLATE Latin1_General_CI_AS = p.[tenant] AND o.[id] = p.[id] WHERE o.[rowrelay_token] = @token AND o.[rowrelay_batch] = @batch) AS r;
SET @told = (SELECT @head AS Head, COALESCE(@from, 0) AS [From], COALESCE(@valid, 0) AS Valid, @token AS Token, @looked AS Looked,
	CAST(CASE WHEN @looked = 0 OR @from IS NOT NULL THEN 1 ELSE 0 END AS bit) AS Known,
	@foreign AS [Foreign], CONVERT(nvarchar(33), @until, 126) AS Until, @taken AS Held FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
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
DECLARE @held int, @now datetime2(7) = SYSUTCDATETIME();
DECLARE @end datetime2(7) = DATEADD(millisecond, @ttl, @now);
UPDATE l SET [_az_func_LeaseExpirationTime] = @end FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o ON l.[tenant] COLLATE Latin1_General_CI_AS = o.[tenant] AND l.[id] = o.[id]
WHERE o.[rowrelay_token] = @token AND o.[rowrelay_expires] = l.[_az_func_LeaseExpirationTime] AND o.[rowrelay_expires] > @now;
SET @held = @@ROWCOUNT;
UPDATE o SET [rowrelay_expires] = @end FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o
WHERE o.[rowrelay_token] = @token AND o.[rowrelay_expires] > @now;
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
DECLARE @held int, @asked int, @now datetime2(7) = SYSUTCDATETIME(), @from bigint, @to bigint,
	@head bigint = CHANGE_TRACKING_CURRENT_VERSION();
DECLARE @list TABLE (b int NOT NULL, p int NOT NULL, d bit NOT NULL, x bit NOT NULL, a int NOT NULL, w bigint NOT NULL,
	r nvarchar(1000) NULL, PRIMARY KEY (b, p));
INSERT INTO @list (b, p, d, x, a, w, r) SELECT j.b, j.p, j.d, j.x, j.a, j.w, j.r
FROM OPENJSON(@marks) WITH (b int, p int, d bit, x bit, a int, w bigint, r nvarchar(1000)) AS j;
SET @asked = @@ROWCOUNT;
SELECT @held = COUNT(*) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o JOIN @list AS m ON o.[rowrelay_token] = @token AND o.[rowrelay_batch] = m.b AND o.[rowrelay_place] = m.p
JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = o.[tenant] AND l.[id] = o.[id] AND l.[_az_func_LeaseExpirationTime] = o.[rowrelay_expires]
WHERE o.[rowrelay_expires] > @now;
IF @held = @asked
BEGIN
UPDATE l SET [_az_func_AttemptCount] = 0, [_az_func_LeaseExpirationTime] = CASE WHEN m.d = 1 THEN NULL ELSE @now END
FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o ON l.[tenant] COLLATE Latin1_General_CI_AS = o.[tenant] AND l.[id] = o.[id]
JOIN @list AS m ON o.[rowrelay_token] = @token AND o.[rowrelay_batch] = m.b AND o.[rowrelay_place] = m.p;
UPDATE o SET [rowrelay_token] = 0, [rowrelay_expires] = CASE WHEN m.d = 1 THEN NULL ELSE @now END, [rowrelay_attempts] = m.a,
	[rowrelay_again] = CASE WHEN m.w > 0 THEN DATEADD(millisecond, m.w, @now) END, [rowrelay_reason] = m.r, [rowrelay_dead] = m.x
FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o JOIN @list AS m ON o.[rowrelay_token] = @token AND o.[rowrelay_batch] = m.b AND o.[rowrelay_place] = m.p;
SELECT @from = g.LastSyncVersion FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
IF @from >= CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]'))
BEGIN
SELECT @to = MIN(c.SYS_CHANGE_VERSION) - 1 FROM CHANGETABLE(CHANGES [dbo].[or'ders], @from) AS c
LEFT JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND l.[id] = c.[id]
WHERE l.[_az_func_ChangeVersion] IS NULL OR l.[_az_func_ChangeVersion] < c.SYS_CHANGE_VERSION OR l.[_az_func_LeaseExpirationTime] IS NOT NULL;
SET @to = CASE WHEN @to < @head THEN @to ELSE @head END;
IF @to > @from
BEGIN
UPDATE [az_func].[GlobalState] SET LastSyncVersion = @to, LastAccessTime = GETUTCDATE() WHERE UserFunctionID = 'b5e6db7c2a5cc573' AND UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
DELETE o FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = o.[tenant] AND l.[id] = o.[id] WHERE l.[_az_func_ChangeVersion] <= @to AND l.[_az_func_LeaseExpirationTime] IS NULL AND o.[rowrelay_dead] = 0;
DELETE l FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[_az_func_ChangeVersion] <= @to AND l.[_az_func_LeaseExpirationTime] IS NULL;
SET @from = @to;
END
END
END
SET @told = (SELECT @held AS Held, @asked AS Asked FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

-- show
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRANSACTION;
DECLARE @from bigint, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(), @valid bigint = CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]')),
	@waiting bigint = 0;
SELECT @from = g.LastSyncVersion FROM [az_func].[GlobalState] AS g WHERE g.UserFunctionID = 'b5e6db7c2a5cc573' AND g.UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
IF @from >= @valid
	SELECT @waiting = COUNT_BIG(*) FROM CHANGETABLE(CHANGES [dbo].[or'ders], @from) AS c
	LEFT JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l ON l.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND l.[id] = c.[id]
	WHERE l.[_az_func_ChangeVersion] IS NULL OR l.[_az_func_ChangeVersion] < c.SYS_CHANGE_VERSION OR l.[_az_func_LeaseExpirationTime] IS NOT NULL;
SET @told = (SELECT @head AS Head, COALESCE(@from, 0) AS [From], COALESCE(@valid, 0) AS Valid, @waiting AS Waiting,
	CAST(CASE WHEN @from IS NULL THEN 0 ELSE 1 END AS bit) AS Known,
	(SELECT COUNT(*) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE o.[rowrelay_expires] > SYSUTCDATETIME()) AS Leased, (SELECT COUNT(*) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE o.[rowrelay_again] IS NOT NULL) AS Parked,
	(SELECT COUNT(*) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE o.[rowrelay_dead] = 1) AS Gone,
	(SELECT COUNT(*) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l WHERE l.[_az_func_LeaseExpirationTime] > SYSDATETIME() AND NOT EXISTS (SELECT 1 FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE l.[tenant] COLLATE Latin1_General_CI_AS = o.[tenant] AND l.[id] = o.[id] AND o.[rowrelay_expires] = l.[_az_func_LeaseExpirationTime])) AS [Foreign],
	(SELECT CONVERT(nvarchar(33), MAX(l.[_az_func_LeaseExpirationTime]), 126) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l) AS Until FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

-- reset
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
DECLARE @held int, @from bigint, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(),
	@valid bigint = CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID(N'[dbo].[or''ders]'));
SELECT @held = COUNT(*) FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250] AS l LEFT JOIN [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o ON l.[tenant] COLLATE Latin1_General_CI_AS = o.[tenant] AND l.[id] = o.[id]
	AND o.[rowrelay_expires] = l.[_az_func_LeaseExpirationTime]
WHERE l.[_az_func_LeaseExpirationTime] > CASE WHEN o.[rowrelay_expires] IS NULL THEN SYSDATETIME() ELSE SYSUTCDATETIME() END;
SET @from = CASE @to WHEN -1 THEN @valid WHEN -2 THEN @head ELSE @to END;
IF @held = 0 AND @from >= @valid AND @from <= @head
BEGIN
DELETE FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250];
DELETE FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] WHERE [rowrelay_dead] = 0;
UPDATE [az_func].[GlobalState] SET LastSyncVersion = @from, LastAccessTime = GETUTCDATE() WHERE UserFunctionID = 'b5e6db7c2a5cc573' AND UserTableID = OBJECT_ID(N'[dbo].[or''ders]');
END
SET @told = (SELECT @held AS Held, @from AS [From], @valid AS Valid, @head AS Head, CAST(1 AS bit) AS Known FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);
COMMIT TRANSACTION

-- dead letters
SELECT TOP (100) CONCAT(N'tenant=', o.[tenant], N', ', N'id=', o.[id], N''), o.[rowrelay_version], o.[rowrelay_attempts], COALESCE(o.[rowrelay_reason], N'')
FROM [az_func].[Leases_b5e6db7c2a5cc573_901578250_rowrelay] AS o WHERE o.[rowrelay_dead] = 1 ORDER BY o.[rowrelay_version]

-- key
SELECT c.object_id, c.name,
	CASE WHEN y.name IN (N'nchar', N'nvarchar') THEN CONCAT(y.name, N'(', c.max_length / 2, N')')
		WHEN y.name IN (N'char', N'varchar', N'binary', N'varbinary') THEN CONCAT(y.name, N'(', c.max_length, N')')
		WHEN y.name IN (N'decimal', N'numeric') THEN CONCAT(y.name, N'(', c.precision, N',', c.scale, N')')
		WHEN y.name IN (N'datetime2', N'datetimeoffset', N'time') THEN CONCAT(y.name, N'(', c.scale, N')')
		WHEN y.name = N'timestamp' THEN N'binary(8)'
		ELSE y.name END,
	COALESCE(c.collation_name, N'')
FROM sys.indexes AS i
JOIN sys.index_columns AS x ON x.object_id = i.object_id AND x.index_id = i.index_id
JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
JOIN sys.types AS y ON y.user_type_id = c.system_type_id
WHERE i.is_primary_key = 1 AND i.object_id = OBJECT_ID(@p1)
ORDER BY x.key_ordinal

-- rights
SELECT
	CAST(CASE WHEN SCHEMA_ID(N'az_func') IS NULL THEN 0 ELSE 1 END AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'CREATE SCHEMA'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'CREATE TABLE'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'ALTER'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'SELECT'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'INSERT'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'UPDATE'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'DELETE'), 1) AS bit),
	CAST(CASE WHEN OBJECT_ID(@p1, N'U') IS NULL OR OBJECT_ID(@p2, N'U') IS NULL THEN 0 ELSE 1 END AS bit),
	(SELECT d.compatibility_level FROM sys.databases AS d WHERE d.name = DB_NAME()), COALESCE(USER_NAME(), N'')

