CREATE TABLE IF NOT EXISTS "shop"."outbox" (
    seq bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    id bigint NOT NULL GENERATED ALWAYS AS (seq) STORED,
    aggregate_type varchar(255) NOT NULL,
    aggregate_id varchar(255) NOT NULL,
    event_type varchar(255) NOT NULL,
    payload text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    published boolean NOT NULL GENERATED ALWAYS AS (state = 'PUBLISHED') STORED,
    published_at timestamptz NULL,
    retry_count integer NOT NULL DEFAULT 0,
    idempotency_key varchar(255) NOT NULL UNIQUE,
    state varchar(16) NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'PUBLISHED', 'FAILED', 'WAITING', 'DEAD LETTER', 'DISCARDED')),
    next_attempt_at timestamptz NULL,
    last_error varchar(1000) NULL,
    bucket smallint NOT NULL GENERATED ALWAYS AS (CAST(CAST(CAST('x' || substr(md5(aggregate_id), 1, 3) AS bit(12)) AS integer) & 1023 AS smallint)) STORED,
    traceparent varchar(255) NULL,
    tracestate varchar(1000) NULL,
    available_at timestamptz NULL,
    expires_at timestamptz NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);
CREATE INDEX IF NOT EXISTS "outbox_pending" ON "shop"."outbox" (bucket, seq) WHERE state = 'PENDING';
CREATE INDEX IF NOT EXISTS "outbox_order" ON "shop"."outbox" (seq, bucket) WHERE state = 'PENDING';
CREATE INDEX IF NOT EXISTS "outbox_due" ON "shop"."outbox" (next_attempt_at) WHERE state = 'FAILED';
CREATE INDEX IF NOT EXISTS "outbox_blocked" ON "shop"."outbox" (aggregate_type, aggregate_id, seq) WHERE state IN ('FAILED', 'DEAD LETTER', 'WAITING');
CREATE TABLE IF NOT EXISTS "shop"."rowrelay_claims" (
    outbox varchar(190) NOT NULL,
    unit varchar(255) NOT NULL,
    owner varchar(255) NOT NULL,
    token bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    info varchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
) WITH (fillfactor = 50);
