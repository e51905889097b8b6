PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, changed_at DATETIME NOT NULL);
INSERT INTO orders VALUES(1,'tea','2026-11-20 10:00:01.000');
INSERT INTO orders VALUES(2,'bad','2026-11-20 10:00:02.000');
INSERT INTO orders VALUES(3,'pot','2026-11-20 10:01:00.000');
INSERT INTO orders VALUES(4,'tea','2026-11-20 10:00:04.000');
INSERT INTO orders VALUES(5,'cup','2026-11-20 10:00:05.000');
INSERT INTO orders VALUES(6,'tea','2026-11-20 10:00:06.000');
INSERT INTO orders VALUES(7,'tea','2026-11-20 10:00:07.000');
INSERT INTO orders VALUES(8,'tea','2026-11-20 10:00:08.000');
INSERT INTO orders VALUES(9,'rice','2026-11-20 10:00:09.000');
CREATE TABLE legacy (id INTEGER PRIMARY KEY AUTOINCREMENT, aggregate_id TEXT NOT NULL, payload TEXT NOT NULL, published BOOLEAN NOT NULL DEFAULT FALSE);
INSERT INTO legacy VALUES(1,'b','{"n": 1, "item": "tea"}',1);
INSERT INTO legacy VALUES(2,'a','{"n": 2, "item": "bad"}',0);
INSERT INTO legacy VALUES(3,'b','{"n": 3, "item": "tea"}',1);
INSERT INTO legacy VALUES(4,'a','{"n": 4, "item": "tea"}',0);
INSERT INTO legacy VALUES(5,'b','{"n": 5, "item": "cup"}',1);
INSERT INTO legacy VALUES(6,'a','{"n": 6, "item": "tea"}',0);
INSERT INTO legacy VALUES(7,'b','{"n": 7, "item": "tea"}',1);
INSERT INTO legacy VALUES(8,'c','{"n": 8, "item": "tea"}',1);
INSERT INTO legacy VALUES(9,'c','{"n": 9, "item": "rice"}',0);
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
INSERT INTO outbox VALUES(1,'Order','b','E','{"n": 1, "item": "tea"}','2026-11-28 12:31:17.550','2026-11-28 12:31:17.930',0,'key-1','PUBLISHED',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(2,'Order','a','E','{"n": 2, "item": "bad"}','2026-11-28 12:31:17.570',NULL,1,'key-2','FAILED','2026-11-28 12:31:27.931','http://127.0.0.1:45319 answered 422 Unprocessable Entity',NULL,NULL);
INSERT INTO outbox VALUES(3,'Order','b','E','{"n": 3, "item": "tea"}','2026-11-28 12:31:17.590','2026-11-28 12:31:17.930',0,'key-3','PUBLISHED',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(4,'Order','a','E','{"n": 4, "item": "tea"}','2026-11-28 12:31:17.620',NULL,0,'key-4','WAITING',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(5,'Order','b','E','{"n": 5, "item": "cup"}','2026-11-28 12:31:17.651','2026-11-28 12:31:17.930',0,'key-5','PUBLISHED',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(6,'Order','a','E','{"n": 6, "item": "tea"}','2026-11-28 12:31:18.038',NULL,0,'key-6','WAITING',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(7,'Order','b','E','{"n": 7, "item": "tea"}','2026-11-28 12:31:18.397','2026-11-28 12:31:18.853',0,'key-7','PUBLISHED',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(8,'Order','c','E','{"n": 8, "item": "tea"}','2026-11-28 12:31:18.872','2026-11-28 12:31:19.134',0,'key-8','PUBLISHED',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(9,'Order','c','E','{"n": 9, "item": "rice"}','2026-11-28 12:31:19.258',NULL,0,'key-9','PENDING',NULL,NULL,NULL,NULL);
CREATE TABLE IF NOT EXISTS "rowrelay_claims" (
    outbox TEXT NOT NULL,
    unit TEXT NOT NULL,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires_at TEXT NOT NULL,
    info TEXT NULL,
    PRIMARY KEY (outbox, unit)
) WITHOUT ROWID;
INSERT INTO rowrelay_claims VALUES('legacy','*','',7,'2026-11-28 12:31:17.954','{"strategy":"leader"}');
INSERT INTO rowrelay_claims VALUES('legacy','leader','',6,'2026-11-28 12:31:19.170',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','*','',9,'2026-11-28 12:31:17.903','{"strategy":"partitioned","partitions":64}');
INSERT INTO rowrelay_claims VALUES('outbox','p0','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p1','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p10','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p11','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p12','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p13','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p14','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p15','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p16','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p17','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p18','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p19','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p2','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p20','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p21','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p22','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p23','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p24','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p25','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p26','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p27','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p28','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p29','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p3','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p30','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p31','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p32','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p33','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p34','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p35','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p36','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p37','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p38','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p39','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p4','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p40','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p41','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p42','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p43','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p44','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p45','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p46','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p47','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p48','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p49','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p5','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p50','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p51','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p52','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p53','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p54','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p55','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p56','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p57','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p58','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p59','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p6','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p60','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p61','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p62','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p63','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p7','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p8','',8,'2026-11-28 12:31:19.141',NULL);
INSERT INTO rowrelay_claims VALUES('outbox','p9','',8,'2026-11-28 12:31:19.141',NULL);
CREATE TABLE IF NOT EXISTS "rowrelay_claims_events" (
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
INSERT INTO rowrelay_claims_events VALUES('legacy','2','','a','10000000000000000002','DEAD LETTER',1,NULL,'http://127.0.0.1:45319 answered 422 Unprocessable Entity');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('orders',9);
INSERT INTO sqlite_sequence VALUES('outbox',9);
INSERT INTO sqlite_sequence VALUES('legacy',9);
CREATE INDEX "outbox_pending" ON "outbox" (bucket, seq) WHERE state = 'PENDING';
CREATE INDEX "outbox_order" ON "outbox" (seq, bucket) WHERE state = 'PENDING';
CREATE INDEX "outbox_publishing" ON "outbox" (seq) WHERE state = 'PUBLISHING';
CREATE INDEX "outbox_due" ON "outbox" (next_attempt_at) WHERE state = 'FAILED';
CREATE INDEX "outbox_blocked" ON "outbox" (aggregate_type, aggregate_id, seq) WHERE state IN ('FAILED', 'DEAD LETTER', 'WAITING');
CREATE INDEX "rowrelay_claims_events_aggregate" ON "rowrelay_claims_events" (outbox, aggregate_type, aggregate_id);
COMMIT;
