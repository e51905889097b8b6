IF OBJECT_ID(N'[shop].[outbox]') IS NULL
CREATE TABLE [shop].[outbox] (
    seq bigint IDENTITY(1, 1) NOT NULL PRIMARY KEY,
    id AS (seq),
    aggregate_type nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    aggregate_id nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    event_type nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    payload nvarchar(max) NOT NULL,
    created_at datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME(),
    published AS (CAST(CASE WHEN state = 'PUBLISHED' THEN 1 ELSE 0 END AS bit)),
    published_at datetime2(6) NULL,
    retry_count int NOT NULL DEFAULT 0,
    idempotency_key nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL UNIQUE,
    state varchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'PUBLISHED', 'FAILED', 'WAITING', 'DEAD LETTER', 'DISCARDED')),
    next_attempt_at datetime2(6) NULL,
    last_error nvarchar(1000) NULL,
    bucket AS (CAST((CAST(SUBSTRING(HASHBYTES('MD5', aggregate_id), 1, 2) AS int) / 16) & 1023 AS smallint)) PERSISTED NOT NULL,
    traceparent nvarchar(255) NULL,
    tracestate nvarchar(1000) NULL,
    available_at datetime2(6) NULL,
    expires_at datetime2(6) NULL
);
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'[shop].[outbox]') AND name = N'outbox_pending')
CREATE INDEX [outbox_pending] ON [shop].[outbox] (bucket, seq) INCLUDE (aggregate_type, aggregate_id) WHERE state = 'PENDING';
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'[shop].[outbox]') AND name = N'outbox_order')
CREATE INDEX [outbox_order] ON [shop].[outbox] (seq, bucket) WHERE state = 'PENDING';
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'[shop].[outbox]') AND name = N'outbox_due')
CREATE INDEX [outbox_due] ON [shop].[outbox] (next_attempt_at) WHERE state = 'FAILED';
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'[shop].[outbox]') AND name = N'outbox_blocked')
CREATE INDEX [outbox_blocked] ON [shop].[outbox] (aggregate_type, aggregate_id, seq) INCLUDE (state) WHERE state IN ('FAILED', 'DEAD LETTER', 'WAITING');
IF OBJECT_ID(N'[shop].[rowrelay_claims]') IS NULL
CREATE TABLE [shop].[rowrelay_claims] (
    outbox nvarchar(190) COLLATE Latin1_General_100_BIN2 NOT NULL,
    unit nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    owner nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    token bigint NOT NULL,
    expires_at datetime2(6) NOT NULL,
    info nvarchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
);
