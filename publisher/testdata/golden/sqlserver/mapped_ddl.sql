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
IF OBJECT_ID(N'[shop].[rowrelay_claims_events]') IS NULL
CREATE TABLE [shop].[rowrelay_claims_events] (
    outbox nvarchar(190) COLLATE Latin1_General_100_BIN2 NOT NULL,
    event nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    aggregate_type nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    aggregate_id nvarchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL,
    position nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    state varchar(16) COLLATE Latin1_General_100_BIN2 NOT NULL CHECK (state IN ('FAILED', 'DEAD LETTER', 'DISCARDED')),
    attempts int NOT NULL,
    next_attempt_at datetime2(6) NULL,
    last_error nvarchar(1000) NULL,
    PRIMARY KEY (outbox, event),
    INDEX aggregate (outbox, aggregate_type, aggregate_id)
);
