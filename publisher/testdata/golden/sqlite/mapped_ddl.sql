CREATE TABLE IF NOT EXISTS "shop"."rowrelay_claims" (
    outbox TEXT NOT NULL,
    unit TEXT NOT NULL,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires_at TEXT NOT NULL,
    info TEXT NULL,
    PRIMARY KEY (outbox, unit)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS "shop"."rowrelay_claims_events" (
    outbox TEXT NOT NULL,
    event TEXT NOT NULL,
    aggregate_type TEXT NOT NULL,
    aggregate_id TEXT NOT NULL,
    position TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('FAILED', 'DEAD LETTER', 'DISCARDED')),
    attempts INTEGER NOT NULL,
    next_attempt_at TEXT NULL,
    last_error TEXT NULL,
    PRIMARY KEY (outbox, event)
);
CREATE INDEX IF NOT EXISTS "rowrelay_claims_events_aggregate" ON "shop"."rowrelay_claims_events" (outbox, aggregate_type, aggregate_id);
