-- What commit 964bf901 (22 November 2026) left behind: its `outbox init --apply` made the tables, and `rowrelay run` with
-- source__strategy=skip_locked published 1, gave 2 up (max_attempts=1), sent 4 to 7, and was killed by SIGKILL before the
-- receiver answered; the application wrote two more. Dumped by sqlite3 .dump, without what only its client reads.
CREATE TABLE IF NOT EXISTS "outbox" (
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
    state TEXT NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'PUBLISHING', 'PUBLISHED', 'FAILED', 'WAITING', 'DEAD LETTER', 'DISCARDED')),
    next_attempt_at TEXT NULL,
    last_error TEXT NULL,
    bucket INTEGER NOT NULL GENERATED ALWAYS AS ((coalesce(unicode(substr(aggregate_id, -1, 1)), 0) + 10 * coalesce(unicode(substr(aggregate_id, -2, 1)), 0)
        + 100 * coalesce(unicode(substr(aggregate_id, -3, 1)), 0) + 1000 * coalesce(unicode(substr(aggregate_id, -4, 1)), 0)) & 1023) STORED,
    traceparent TEXT NULL,
    tracestate TEXT NULL
);
INSERT INTO outbox VALUES(1,'Order','a','Happened','{"n": 1}','2026-11-28 11:46:09.605','2026-11-28 11:46:10.034',0,'key-1','PUBLISHED',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(2,'Order','b','Happened','{"n": 2, "refuse": true}','2026-11-28 11:46:09.633',NULL,1,'key-2','DEAD LETTER',NULL,'http://127.0.0.1:34675 answered 422 Unprocessable Entity',NULL,NULL);
INSERT INTO outbox VALUES(3,'Order','b','Happened','{"n": 3}','2026-11-28 11:46:09.673',NULL,0,'key-3','WAITING',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(4,'Order','a','Happened','{"n": 4}','2026-11-28 11:46:10.058',NULL,0,'key-4','PUBLISHING',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(5,'Order','c','Happened','{"n": 5}','2026-11-28 11:46:10.062',NULL,0,'key-5','PUBLISHING',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(6,'Order','c','Happened','{"n": 6}','2026-11-28 11:46:10.071',NULL,0,'key-6','PUBLISHING',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(7,'Order','d','Happened','{"n": 7}','2026-11-28 11:46:10.075',NULL,0,'key-7','PUBLISHING',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(8,'Order','a','Happened','{"n": 8}','2026-11-28 11:46:11.275',NULL,0,'key-8','PENDING',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(9,'Order','e','Happened','{"n": 9}','2026-11-28 11:46:11.292',NULL,0,'key-9','PENDING',NULL,NULL,NULL,NULL);
CREATE TABLE IF NOT EXISTS "rowrelay_claims" (
    outbox TEXT NOT NULL,
    unit TEXT NOT NULL,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires_at TEXT NOT NULL,
    info TEXT NULL,
    PRIMARY KEY (outbox, unit)
) WITHOUT ROWID;
INSERT INTO rowrelay_claims VALUES('outbox','*','',4,'2026-11-28 11:46:10.018','{"strategy":"skip_locked"}');
INSERT INTO rowrelay_claims VALUES('outbox','a:5:Order:a','shop/vm-18480#941b4a68',3,'2026-11-28 11:46:14.007','{"id":"a","type":"Order"}');
INSERT INTO rowrelay_claims VALUES('outbox','a:5:Order:c','shop/vm-18480#941b4a68',3,'2026-11-28 11:46:14.007','{"id":"c","type":"Order"}');
INSERT INTO rowrelay_claims VALUES('outbox','a:5:Order:d','shop/vm-18480#941b4a68',3,'2026-11-28 11:46:14.007','{"id":"d","type":"Order"}');
INSERT INTO rowrelay_claims VALUES('outbox','i:shop/vm-18480#941b4a68','shop/vm-18480#941b4a68',0,'2026-11-28 11:46:14.010','');
CREATE INDEX "outbox_pending" ON "outbox" (bucket, seq) WHERE state = 'PENDING';
CREATE INDEX "outbox_order" ON "outbox" (seq, bucket) WHERE state = 'PENDING';
CREATE INDEX "outbox_publishing" ON "outbox" (seq) WHERE state = 'PUBLISHING';
CREATE INDEX "outbox_due" ON "outbox" (next_attempt_at) WHERE state = 'FAILED';
CREATE INDEX "outbox_blocked" ON "outbox" (aggregate_type, aggregate_id, seq) WHERE state IN ('FAILED', 'DEAD LETTER', 'WAITING');
