CREATE TABLE IF NOT EXISTS "shop"."rowrelay_claims" (
    outbox varchar(190) NOT NULL,
    unit varchar(255) NOT NULL,
    owner varchar(255) NOT NULL,
    token bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    info varchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS "shop"."rowrelay_claims_events" (
    outbox varchar(190) NOT NULL,
    event text COLLATE "C" NOT NULL,
    aggregate_type text COLLATE "C" NOT NULL,
    aggregate_id text COLLATE "C" NOT NULL,
    position text COLLATE "C" NOT NULL,
    state varchar(16) NOT NULL CHECK (state IN ('FAILED', 'DEAD LETTER', 'DISCARDED')),
    attempts integer NOT NULL,
    next_attempt_at timestamptz NULL,
    last_error varchar(1000) NULL,
    PRIMARY KEY (outbox, event)
);
CREATE INDEX IF NOT EXISTS "rowrelay_claims_events_aggregate" ON "shop"."rowrelay_claims_events" (outbox, aggregate_type, aggregate_id);
