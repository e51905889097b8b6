PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, changed_at DATETIME NOT NULL);
INSERT INTO orders VALUES(1,'tea','2026-11-20 10:00:01.000');
INSERT INTO orders VALUES(2,'bad','2026-11-20 10:00:02.000');
INSERT INTO orders VALUES(3,'pot','2026-11-20 10:01:00.000');
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
CREATE TABLE IF NOT EXISTS "rowrelay_changes_orders" (
	"id" INTEGER NOT NULL,
	"rowrelay_version" INTEGER NOT NULL,
	"rowrelay_created" INTEGER NOT NULL,
	PRIMARY KEY ("id")
);
INSERT INTO rowrelay_changes_orders VALUES(1,1795868982085001,1795868982085001);
INSERT INTO rowrelay_changes_orders VALUES(2,1795868982085002,1795868982085002);
INSERT INTO rowrelay_changes_orders VALUES(3,1795868982085010,1795868982085003);
INSERT INTO rowrelay_changes_orders VALUES(4,1795868982085009,1795868982085004);
INSERT INTO rowrelay_changes_orders VALUES(5,1795868982085005,1795868982085005);
INSERT INTO rowrelay_changes_orders VALUES(6,1795868982085006,1795868982085006);
INSERT INTO rowrelay_changes_orders VALUES(7,1795868982085007,1795868982085007);
INSERT INTO rowrelay_changes_orders VALUES(8,1795868982085008,1795868982085008);
INSERT INTO rowrelay_changes_orders VALUES(9,1795868982085011,1795868982085011);
CREATE TABLE IF NOT EXISTS "rowrelay_changes_orders_state" (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	"rowrelay_version" INTEGER NOT NULL,
	"rowrelay_floor" INTEGER NOT NULL
);
INSERT INTO rowrelay_changes_orders_state VALUES(1,1795868982085011,1795868982085000);
CREATE TABLE IF NOT EXISTS "rowrelay_changes_orders_marks" (
	taken INTEGER NOT NULL,
	"rowrelay_version" INTEGER NOT NULL
);
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
INSERT INTO outbox VALUES(1,'Order','b','E','{"n": 1, "item": "tea"}','2026-11-28 12:29:42.534','2026-11-28 12:29:43.303',0,'key-1','PUBLISHED',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(2,'Order','a','E','{"n": 2, "item": "bad"}','2026-11-28 12:29:42.622',NULL,1,'key-2','FAILED','2026-11-28 12:29:53.322','http://127.0.0.1:43913 answered 422 Unprocessable Entity',NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(3,'Order','b','E','{"n": 3, "item": "tea"}','2026-11-28 12:29:42.702','2026-11-28 12:29:43.321',0,'key-3','PUBLISHED',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(4,'Order','a','E','{"n": 4, "item": "tea"}','2026-11-28 12:29:42.766',NULL,0,'key-4','WAITING',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(5,'Order','b','E','{"n": 5, "item": "cup"}','2026-11-28 12:29:42.874','2026-11-28 12:29:43.321',0,'key-5','PUBLISHED',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(6,'Order','a','E','{"n": 6, "item": "tea"}','2026-11-28 12:29:43.394',NULL,0,'key-6','WAITING',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(7,'Order','b','E','{"n": 7, "item": "tea"}','2026-11-28 12:29:44.082','2026-11-28 12:29:44.497',0,'key-7','PUBLISHED',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(8,'Order','c','E','{"n": 8, "item": "tea"}','2026-11-28 12:29:44.710','2026-11-28 12:29:45.179',0,'key-8','PUBLISHED',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outbox VALUES(9,'Order','c','E','{"n": 9, "item": "rice"}','2026-11-28 12:29:45.721',NULL,0,'key-9','PENDING',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE IF NOT EXISTS "rowrelay_claims" (
    outbox TEXT NOT NULL,
    unit TEXT NOT NULL,
    owner TEXT NOT NULL,
    token INTEGER NOT NULL,
    expires_at TEXT NOT NULL,
    info TEXT NULL,
    PRIMARY KEY (outbox, unit)
) WITHOUT ROWID;
INSERT INTO rowrelay_claims VALUES('legacy','*','',6,'2026-11-28 12:29:43.146','{"partitions":1}');
INSERT INTO rowrelay_claims VALUES('outbox','*','',8,'2026-11-28 12:29:43.230','{"partitions":64}');
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
INSERT INTO rowrelay_claims_events VALUES('legacy','2','','a','10000000000000000002','DEAD LETTER',1,NULL,'http://127.0.0.1:43913 answered 422 Unprocessable Entity');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('orders',9);
INSERT INTO sqlite_sequence VALUES('outbox',9);
INSERT INTO sqlite_sequence VALUES('legacy',9);
CREATE INDEX "rowrelay_changes_orders_version" ON "rowrelay_changes_orders" ("rowrelay_version", "id");
CREATE TRIGGER "rowrelay_changes_orders_insert" AFTER INSERT ON "orders" FOR EACH ROW BEGIN
	UPDATE "rowrelay_changes_orders_state" SET "rowrelay_version" = "rowrelay_version" + 1;
	INSERT INTO "rowrelay_changes_orders" ("id", "rowrelay_version", "rowrelay_created")
		SELECT NEW."id", "rowrelay_version", "rowrelay_version" FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("id") DO UPDATE SET "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
END;
CREATE TRIGGER "rowrelay_changes_orders_update" AFTER UPDATE ON "orders" FOR EACH ROW WHEN (OLD."id" IS NEW."id") BEGIN
	UPDATE "rowrelay_changes_orders_state" SET "rowrelay_version" = "rowrelay_version" + 1;
	INSERT INTO "rowrelay_changes_orders" ("id", "rowrelay_version", "rowrelay_created")
		SELECT NEW."id", "rowrelay_version", 0 FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("id") DO UPDATE SET "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
END;
CREATE TRIGGER "rowrelay_changes_orders_move" AFTER UPDATE ON "orders" FOR EACH ROW WHEN NOT (OLD."id" IS NEW."id") BEGIN
	UPDATE "rowrelay_changes_orders_state" SET "rowrelay_version" = "rowrelay_version" + 1;
	INSERT INTO "rowrelay_changes_orders" ("id", "rowrelay_version", "rowrelay_created")
		SELECT OLD."id", "rowrelay_version", 0 FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("id") DO UPDATE SET "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
	INSERT INTO "rowrelay_changes_orders" ("id", "rowrelay_version", "rowrelay_created")
		SELECT NEW."id", "rowrelay_version", "rowrelay_version" FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("id") DO UPDATE SET "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
END;
CREATE TRIGGER "rowrelay_changes_orders_delete" AFTER DELETE ON "orders" FOR EACH ROW BEGIN
	UPDATE "rowrelay_changes_orders_state" SET "rowrelay_version" = "rowrelay_version" + 1;
	INSERT INTO "rowrelay_changes_orders" ("id", "rowrelay_version", "rowrelay_created")
		SELECT OLD."id", "rowrelay_version", 0 FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("id") DO UPDATE SET "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
END;
CREATE INDEX "outbox_pending" ON "outbox" (bucket, seq, aggregate_type, aggregate_id) WHERE state = 'PENDING';
CREATE INDEX "outbox_order" ON "outbox" (seq, bucket) WHERE state = 'PENDING';
CREATE INDEX "outbox_due" ON "outbox" (next_attempt_at) WHERE state = 'FAILED';
CREATE INDEX "outbox_blocked" ON "outbox" (aggregate_type, aggregate_id, seq) WHERE state IN ('FAILED', 'DEAD LETTER', 'WAITING');
CREATE INDEX "rowrelay_claims_events_aggregate" ON "rowrelay_claims_events" (outbox, aggregate_type, aggregate_id);
COMMIT;
