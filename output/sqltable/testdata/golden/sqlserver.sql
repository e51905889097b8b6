IF OBJECT_ID(N'[sales].[rowrelay_applied]', N'U') IS NULL
CREATE TABLE [sales].[rowrelay_applied] (
    id nvarchar(32) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
    scope nvarchar(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    token bigint NOT NULL,
    number bigint NOT NULL,
    event_id nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL
)

MERGE INTO [sales].[rowrelay_applied] WITH (HOLDLOCK) AS d USING (VALUES (CAST(@p1 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2, CAST(@p2 AS nvarchar(4000)), 0, 0, ''), (CAST(@p3 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2, CAST(@p4 AS nvarchar(4000)), 0, 0, '')) AS s ([id], [scope], [token], [number], [event_id]) ON d.[id] = s.[id] WHEN NOT MATCHED THEN INSERT ([id], [scope], [token], [number], [event_id]) VALUES (s.[id], s.[scope], s.[token], s.[number], s.[event_id]);
SET @rows = @@ROWCOUNT

SELECT id, token, number, event_id FROM [sales].[rowrelay_applied] g WITH (UPDLOCK, ROWLOCK) WHERE id IN (SELECT CAST(j.value AS nvarchar(255)) COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@p1) AS j) ORDER BY id

MERGE INTO [sales].[rowrelay_applied] WITH (HOLDLOCK) AS d USING (VALUES (CAST(@p1 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2, CAST(@p2 AS nvarchar(4000)), @p3, @p4, CAST(@p5 AS nvarchar(4000))), (CAST(@p6 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2, CAST(@p7 AS nvarchar(4000)), @p8, @p9, CAST(@p10 AS nvarchar(4000)))) AS s ([id], [scope], [token], [number], [event_id]) ON d.[id] = s.[id] WHEN MATCHED THEN UPDATE SET [scope] = s.[scope], [token] = s.[token], [number] = s.[number], [event_id] = s.[event_id] WHEN NOT MATCHED THEN INSERT ([id], [scope], [token], [number], [event_id]) VALUES (s.[id], s.[scope], s.[token], s.[number], s.[event_id]);

DELETE FROM [sales].[copies] WHERE [id] = CAST(@p1 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2;
SET @rows = @@ROWCOUNT

MERGE INTO [sales].[copies] WITH (HOLDLOCK) AS d USING (VALUES (CAST(@p1 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2, CAST(@p2 AS nvarchar(4000)), CAST(@p3 AS varchar(8000)), CAST(@p4 AS varbinary(max))), (CAST(@p5 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2, CAST(@p6 AS nvarchar(4000)), CASE WHEN CAST(CAST(CAST(CAST(@p7 AS nvarchar(4000)) COLLATE SQL_Latin1_General_CP1_CI_AS AS varchar(8000)) AS nvarchar(max)) AS varbinary(max)) = CAST(CAST(@p7 AS nvarchar(4000)) AS varbinary(max)) THEN CAST(CAST(@p7 AS nvarchar(4000)) COLLATE SQL_Latin1_General_CP1_CI_AS AS varchar(8000)) ELSE CAST(CAST(N'the code page of column note lacks a letter of the text' + LEFT(CAST(@p7 AS nvarchar(4000)), 0) AS int) AS varchar(8000)) END, CAST(@p8 AS varbinary(max)))) AS s ([id], [amount], [note], [photo]) ON d.[id] = s.[id] WHEN MATCHED THEN UPDATE SET [amount] = s.[amount], [note] = s.[note], [photo] = s.[photo] WHEN NOT MATCHED THEN INSERT ([id], [amount], [note], [photo]) VALUES (s.[id], s.[amount], s.[note], s.[photo]);
SET @rows = @@ROWCOUNT

MERGE INTO [sales].[copies] WITH (HOLDLOCK) AS d USING (VALUES (CAST(@p1 AS nvarchar(4000)) COLLATE Latin1_General_100_BIN2)) AS s ([id]) ON d.[id] = s.[id] WHEN NOT MATCHED THEN INSERT ([id]) VALUES (s.[id]);
SET @rows = @@ROWCOUNT
