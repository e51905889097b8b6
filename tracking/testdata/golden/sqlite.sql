BEGIN;
CREATE TABLE IF NOT EXISTS "rowrelay_changes_orders" (
	"tenant" varchar(20) NOT NULL,
	"id" bigint NOT NULL,
	"rowrelay_version" INTEGER NOT NULL,
	"rowrelay_created" INTEGER NOT NULL,
	PRIMARY KEY ("tenant", "id")
);
CREATE INDEX IF NOT EXISTS "rowrelay_changes_orders_version" ON "rowrelay_changes_orders" ("rowrelay_version", "tenant", "id");
CREATE TABLE IF NOT EXISTS "rowrelay_changes_orders_state" (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	"rowrelay_version" INTEGER NOT NULL,
	"rowrelay_floor" INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS "rowrelay_changes_orders_marks" (
	taken INTEGER NOT NULL,
	"rowrelay_version" INTEGER NOT NULL
);
INSERT INTO "rowrelay_changes_orders_state" SELECT 1, n, n FROM (SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000 AS n) WHERE true
	ON CONFLICT (one) DO UPDATE SET "rowrelay_version" = "rowrelay_version" + 1, "rowrelay_floor" = "rowrelay_version" + 1;
CREATE TRIGGER IF NOT EXISTS "rowrelay_changes_orders_insert" AFTER INSERT ON "orders" FOR EACH ROW BEGIN
	UPDATE "rowrelay_changes_orders_state" SET "rowrelay_version" = "rowrelay_version" + 1;
	INSERT INTO "rowrelay_changes_orders" ("tenant", "id", "rowrelay_version", "rowrelay_created")
		SELECT NEW."tenant", NEW."id", "rowrelay_version", "rowrelay_version" FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("tenant", "id") DO UPDATE SET "tenant" = excluded."tenant", "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
END;
CREATE TRIGGER IF NOT EXISTS "rowrelay_changes_orders_update" AFTER UPDATE ON "orders" FOR EACH ROW WHEN (OLD."tenant" IS NEW."tenant" AND OLD."id" IS NEW."id") BEGIN
	UPDATE "rowrelay_changes_orders_state" SET "rowrelay_version" = "rowrelay_version" + 1;
	INSERT INTO "rowrelay_changes_orders" ("tenant", "id", "rowrelay_version", "rowrelay_created")
		SELECT NEW."tenant", NEW."id", "rowrelay_version", 0 FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("tenant", "id") DO UPDATE SET "tenant" = excluded."tenant", "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
END;
CREATE TRIGGER IF NOT EXISTS "rowrelay_changes_orders_move" AFTER UPDATE ON "orders" FOR EACH ROW WHEN NOT (OLD."tenant" IS NEW."tenant" AND OLD."id" IS NEW."id") BEGIN
	UPDATE "rowrelay_changes_orders_state" SET "rowrelay_version" = "rowrelay_version" + 1;
	INSERT INTO "rowrelay_changes_orders" ("tenant", "id", "rowrelay_version", "rowrelay_created")
		SELECT OLD."tenant", OLD."id", "rowrelay_version", 0 FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("tenant", "id") DO UPDATE SET "tenant" = excluded."tenant", "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
	INSERT INTO "rowrelay_changes_orders" ("tenant", "id", "rowrelay_version", "rowrelay_created")
		SELECT NEW."tenant", NEW."id", "rowrelay_version", "rowrelay_version" FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("tenant", "id") DO UPDATE SET "tenant" = excluded."tenant", "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
END;
CREATE TRIGGER IF NOT EXISTS "rowrelay_changes_orders_delete" AFTER DELETE ON "orders" FOR EACH ROW BEGIN
	UPDATE "rowrelay_changes_orders_state" SET "rowrelay_version" = "rowrelay_version" + 1;
	INSERT INTO "rowrelay_changes_orders" ("tenant", "id", "rowrelay_version", "rowrelay_created")
		SELECT OLD."tenant", OLD."id", "rowrelay_version", 0 FROM "rowrelay_changes_orders_state" WHERE true
		ON CONFLICT ("tenant", "id") DO UPDATE SET "tenant" = excluded."tenant", "id" = excluded."id", "rowrelay_version" = excluded."rowrelay_version", "rowrelay_created" = max("rowrelay_created", excluded."rowrelay_created");
END;
COMMIT;

-- uninstall
BEGIN;
DROP TRIGGER IF EXISTS "rowrelay_changes_orders_insert";
DROP TRIGGER IF EXISTS "rowrelay_changes_orders_update";
DROP TRIGGER IF EXISTS "rowrelay_changes_orders_move";
DROP TRIGGER IF EXISTS "rowrelay_changes_orders_delete";
DROP TABLE IF EXISTS "rowrelay_changes_orders";
DROP TABLE IF EXISTS "rowrelay_changes_orders_state";
DROP TABLE IF EXISTS "rowrelay_changes_orders_marks";
COMMIT;

-- purge
BEGIN;
INSERT INTO "rowrelay_changes_orders_marks" SELECT CAST(strftime('%s', 'now') AS INTEGER), "rowrelay_version" FROM "rowrelay_changes_orders_state";
DELETE FROM "rowrelay_changes_orders_marks" WHERE taken < (SELECT max(m.taken) FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600);
UPDATE "rowrelay_changes_orders_state" SET "rowrelay_floor" = (SELECT "rowrelay_changes_orders"."rowrelay_version" FROM "rowrelay_changes_orders" WHERE (this OR "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600))
	AND (that OR "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600) AND NOT (near))
	AND NOT EXISTS (SELECT 1 FROM "orders" AS t WHERE t."tenant" = "rowrelay_changes_orders"."tenant" AND t."id" = "rowrelay_changes_orders"."id")
	ORDER BY "rowrelay_changes_orders"."rowrelay_version" DESC LIMIT 1)
WHERE EXISTS (SELECT 1 FROM "rowrelay_changes_orders" WHERE "rowrelay_changes_orders"."rowrelay_version" > "rowrelay_floor" AND (this OR "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600))
	AND (that OR "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600) AND NOT (near))
	AND NOT EXISTS (SELECT 1 FROM "orders" AS t WHERE t."tenant" = "rowrelay_changes_orders"."tenant" AND t."id" = "rowrelay_changes_orders"."id"));
DELETE FROM "rowrelay_changes_orders" WHERE (this OR "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600))
	AND (that OR "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600) AND NOT (near))
	AND NOT EXISTS (SELECT 1 FROM "orders" AS t WHERE t."tenant" = "rowrelay_changes_orders"."tenant" AND t."id" = "rowrelay_changes_orders"."id");
COMMIT;

-- purge, with a limit
BEGIN;
INSERT INTO "rowrelay_changes_orders_marks" SELECT CAST(strftime('%s', 'now') AS INTEGER), "rowrelay_version" FROM "rowrelay_changes_orders_state";
DELETE FROM "rowrelay_changes_orders_marks" WHERE taken < (SELECT max(m.taken) FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600);
UPDATE "rowrelay_changes_orders_state" SET "rowrelay_floor" = (SELECT "rowrelay_changes_orders"."rowrelay_version" FROM "rowrelay_changes_orders" WHERE (this OR "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600) AND NOT (near) OR "rowrelay_changes_orders"."rowrelay_version" <= '4711' AND "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 0) AND NOT (here))
	AND NOT EXISTS (SELECT 1 FROM "orders" AS t WHERE t."tenant" = "rowrelay_changes_orders"."tenant" AND t."id" = "rowrelay_changes_orders"."id")
	ORDER BY "rowrelay_changes_orders"."rowrelay_version" DESC LIMIT 1)
WHERE EXISTS (SELECT 1 FROM "rowrelay_changes_orders" WHERE "rowrelay_changes_orders"."rowrelay_version" > "rowrelay_floor" AND (this OR "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600) AND NOT (near) OR "rowrelay_changes_orders"."rowrelay_version" <= '4711' AND "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 0) AND NOT (here))
	AND NOT EXISTS (SELECT 1 FROM "orders" AS t WHERE t."tenant" = "rowrelay_changes_orders"."tenant" AND t."id" = "rowrelay_changes_orders"."id"));
DELETE FROM "rowrelay_changes_orders" WHERE (this OR "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 3600) AND NOT (near) OR "rowrelay_changes_orders"."rowrelay_version" <= '4711' AND "rowrelay_changes_orders"."rowrelay_version" < (SELECT max(m."rowrelay_version") FROM "rowrelay_changes_orders_marks" AS m WHERE m.taken <= CAST(strftime('%s', 'now') AS INTEGER) - 0) AND NOT (here))
	AND NOT EXISTS (SELECT 1 FROM "orders" AS t WHERE t."tenant" = "rowrelay_changes_orders"."tenant" AND t."id" = "rowrelay_changes_orders"."id");
COMMIT;

-- rows
(
	SELECT c."tenant", c."id", t."note", c."rowrelay_version", c."rowrelay_created", t."tenant" AS "rowrelay_present"
	FROM "rowrelay_changes_orders" AS c LEFT JOIN "orders" AS t ON t."tenant" = c."tenant" AND t."id" = c."id"
)
