CREATE TABLE IF NOT EXISTS "outbox" (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id INTEGER GENERATED ALWAYS AS (seq) VIRTUAL,
    aggregate_type TEXT NOT NULL CHECK (length(aggregate_type) <= 255),
    aggregate_id TEXT NOT NULL CHECK (length(aggregate_id) <= 255),
    event_type TEXT NOT NULL CHECK (length(event_type) <= 255),
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
    published INTEGER NOT NULL GENERATED ALWAYS AS (state = 'PUBLISHED') VIRTUAL,
    published_at TEXT NULL,
    retry_count INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT NOT NULL UNIQUE CHECK (length(idempotency_key) <= 255),
    state TEXT NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'PUBLISHING', 'PUBLISHED', 'FAILED', 'WAITING', 'DEAD LETTER', 'DISCARDED')),
    next_attempt_at TEXT NULL,
    last_error TEXT NULL,
    bucket INTEGER NOT NULL GENERATED ALWAYS AS ((coalesce(unicode(substr(aggregate_id, -1, 1)), 0) + 10 * coalesce(unicode(substr(aggregate_id, -2, 1)), 0)
        + 100 * coalesce(unicode(substr(aggregate_id, -3, 1)), 0) + 1000 * coalesce(unicode(substr(aggregate_id, -4, 1)), 0)) & 1023) STORED,
    traceparent TEXT NULL,
    tracestate TEXT NULL
);
CREATE INDEX IF NOT EXISTS "outbox_pending" ON "outbox" (bucket, seq) WHERE state = 'PENDING';
CREATE INDEX IF NOT EXISTS "outbox_publishing" ON "outbox" (seq) WHERE state = 'PUBLISHING';
CREATE INDEX IF NOT EXISTS "outbox_due" ON "outbox" (next_attempt_at) WHERE state = 'FAILED';
CREATE INDEX IF NOT EXISTS "outbox_blocked" ON "outbox" (aggregate_type, aggregate_id, seq) WHERE state IN ('FAILED', 'DEAD LETTER', 'WAITING');
CREATE TABLE IF NOT EXISTS "rowrelay_claims" (
    outbox TEXT NOT NULL,
    unit TEXT NOT NULL,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires_at TEXT NOT NULL,
    info TEXT NULL,
    PRIMARY KEY (outbox, unit)
) WITHOUT ROWID;
