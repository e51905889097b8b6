CREATE TABLE IF NOT EXISTS "shop"."outbox" (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id INTEGER GENERATED ALWAYS AS (seq) VIRTUAL,
    aggregate_type TEXT NOT NULL CHECK (typeof(aggregate_type) = 'text' AND instr(aggregate_type, char(0)) = 0 AND length(aggregate_type) <= 255),
    aggregate_id TEXT NOT NULL CHECK (typeof(aggregate_id) = 'text' AND instr(aggregate_id, char(0)) = 0 AND length(aggregate_id) <= 255),
    event_type TEXT NOT NULL CHECK (length(event_type) <= 255),
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    published INTEGER NOT NULL GENERATED ALWAYS AS (state = 'PUBLISHED') VIRTUAL,
    published_at TEXT NULL,
    retry_count INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT NOT NULL UNIQUE CHECK (length(idempotency_key) <= 255),
    state TEXT NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'PUBLISHED', 'FAILED', 'WAITING', 'DEAD LETTER', 'DISCARDED')),
    next_attempt_at TEXT NULL,
    last_error TEXT NULL,
    bucket INTEGER NOT NULL GENERATED ALWAYS AS ((coalesce(unicode(substr(aggregate_id, -1, 1)), 0) + 10 * coalesce(unicode(substr(aggregate_id, -2, 1)), 0)
        + 100 * coalesce(unicode(substr(aggregate_id, -3, 1)), 0) + 1000 * coalesce(unicode(substr(aggregate_id, -4, 1)), 0)) & 1023) STORED,
    traceparent TEXT NULL,
    tracestate TEXT NULL,
    available_at TEXT NULL CHECK (available_at IS NULL OR julianday(available_at) IS NOT NULL),
    expires_at TEXT NULL CHECK (expires_at IS NULL OR julianday(expires_at) IS NOT NULL)
);
CREATE INDEX IF NOT EXISTS "shop"."outbox_pending" ON "outbox" (bucket, seq, aggregate_type, aggregate_id) WHERE state = 'PENDING';
CREATE INDEX IF NOT EXISTS "shop"."outbox_order" ON "outbox" (seq, bucket) WHERE state = 'PENDING';
CREATE INDEX IF NOT EXISTS "shop"."outbox_due" ON "outbox" (next_attempt_at) WHERE state = 'FAILED';
CREATE INDEX IF NOT EXISTS "shop"."outbox_blocked" ON "outbox" (aggregate_type, aggregate_id, seq) WHERE state IN ('FAILED', 'DEAD LETTER', 'WAITING');
CREATE TABLE IF NOT EXISTS "shop"."rowrelay_claims" (
    outbox TEXT NOT NULL,
    unit TEXT NOT NULL,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires_at TEXT NOT NULL,
    info TEXT NULL,
    PRIMARY KEY (outbox, unit)
) WITHOUT ROWID;
