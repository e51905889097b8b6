BEGIN;
CREATE TABLE "rowrelay_history_orders" (
	"rowrelay_change" INTEGER PRIMARY KEY AUTOINCREMENT,
	"rowrelay_operation" TEXT NOT NULL,
	"rowrelay_written" DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now')),
	"tenant" varchar(20) NOT NULL,
	"id" bigint NOT NULL,
	"note" text,
	"rowrelay_was_tenant" varchar(20),
	"rowrelay_was_id" bigint,
	"rowrelay_was_note" text
);
DROP TRIGGER IF EXISTS "rowrelay_history_orders_insert";
DROP TRIGGER IF EXISTS "rowrelay_history_orders_update";
DROP TRIGGER IF EXISTS "rowrelay_history_orders_move";
DROP TRIGGER IF EXISTS "rowrelay_history_orders_delete";
CREATE TRIGGER "rowrelay_history_orders_insert" AFTER INSERT ON "orders" FOR EACH ROW BEGIN
	INSERT INTO "rowrelay_history_orders" ("rowrelay_operation", "tenant", "id", "note")
		VALUES ('insert', NEW."tenant", NEW."id", NEW."note");
END;
CREATE TRIGGER "rowrelay_history_orders_update" AFTER UPDATE ON "orders" FOR EACH ROW WHEN (OLD."tenant" IS NEW."tenant" AND OLD."id" IS NEW."id") BEGIN
	INSERT INTO "rowrelay_history_orders" ("rowrelay_operation", "tenant", "id", "note", "rowrelay_was_tenant", "rowrelay_was_id", "rowrelay_was_note")
		VALUES ('update', NEW."tenant", NEW."id", NEW."note", OLD."tenant", OLD."id", OLD."note");
END;
CREATE TRIGGER "rowrelay_history_orders_move" AFTER UPDATE ON "orders" FOR EACH ROW WHEN NOT (OLD."tenant" IS NEW."tenant" AND OLD."id" IS NEW."id") BEGIN
	INSERT INTO "rowrelay_history_orders" ("rowrelay_operation", "tenant", "id", "note")
		VALUES ('delete', OLD."tenant", OLD."id", OLD."note");
	INSERT INTO "rowrelay_history_orders" ("rowrelay_operation", "tenant", "id", "note")
		VALUES ('insert', NEW."tenant", NEW."id", NEW."note");
END;
CREATE TRIGGER "rowrelay_history_orders_delete" AFTER DELETE ON "orders" FOR EACH ROW BEGIN
	INSERT INTO "rowrelay_history_orders" ("rowrelay_operation", "tenant", "id", "note")
		VALUES ('delete', OLD."tenant", OLD."id", OLD."note");
END;
CREATE TABLE IF NOT EXISTS "rowrelay_history_orders_state" (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	"rowrelay_floor" INTEGER NOT NULL
);
INSERT INTO "rowrelay_history_orders_state" SELECT 1, max(CAST(strftime('%s', 'now') AS INTEGER) * 1000000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000,
		coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'rowrelay_history_orders'), 0) + 1) WHERE true
	ON CONFLICT (one) DO UPDATE SET "rowrelay_floor" = excluded."rowrelay_floor";
DELETE FROM sqlite_sequence WHERE name = 'rowrelay_history_orders';
INSERT INTO sqlite_sequence (name, seq) SELECT 'rowrelay_history_orders', "rowrelay_floor" FROM "rowrelay_history_orders_state";
COMMIT;

BEGIN;
-- as above: DROP TRIGGER IF EXISTS "rowrelay_history_orders_insert";
-- as above: DROP TRIGGER IF EXISTS "rowrelay_history_orders_update";
-- as above: DROP TRIGGER IF EXISTS "rowrelay_history_orders_move";
-- as above: DROP TRIGGER IF EXISTS "rowrelay_history_orders_delete";
ALTER TABLE "rowrelay_history_orders" ADD COLUMN "note" text;
ALTER TABLE "rowrelay_history_orders" ADD COLUMN "rowrelay_was_note" text;
ALTER TABLE "rowrelay_history_orders" DROP COLUMN "gone";
ALTER TABLE "rowrelay_history_orders" DROP COLUMN "rowrelay_was_gone";
-- as above: CREATE TRIGGER "rowrelay_history_orders_insert" AFTER INSERT ON "orders" FOR EACH ROW BEGIN;
-- as above: CREATE TRIGGER "rowrelay_history_orders_update" AFTER UPDATE ON "orders" FOR EACH ROW WHEN (OLD."tenant" IS NEW."tenant" AND OLD."id" IS NEW."id") BEGIN;
-- as above: CREATE TRIGGER "rowrelay_history_orders_move" AFTER UPDATE ON "orders" FOR EACH ROW WHEN NOT (OLD."tenant" IS NEW."tenant" AND OLD."id" IS NEW."id") BEGIN;
-- as above: CREATE TRIGGER "rowrelay_history_orders_delete" AFTER DELETE ON "orders" FOR EACH ROW BEGIN;
COMMIT;

-- uninstall
BEGIN;
DROP TRIGGER IF EXISTS "rowrelay_history_orders_insert";
DROP TRIGGER IF EXISTS "rowrelay_history_orders_update";
DROP TRIGGER IF EXISTS "rowrelay_history_orders_move";
DROP TRIGGER IF EXISTS "rowrelay_history_orders_delete";
DROP TABLE IF EXISTS "rowrelay_history_orders";
DROP TABLE IF EXISTS "rowrelay_history_orders_state";
DROP TABLE IF EXISTS "rowrelay_history_orders_marks";
COMMIT;
