BEGIN;
SET LOCAL lock_timeout = '10s';
CREATE TABLE IF NOT EXISTS "shop"."rowrelay_changes_orders" (
	"tenant" varchar(20) NOT NULL,
	"id" bigint NOT NULL,
	"rowrelay_version" xid8 NOT NULL,
	"rowrelay_created" xid8 NOT NULL,
	"rowrelay_changed_61947941" xid8 NOT NULL DEFAULT '0',
	PRIMARY KEY ("tenant", "id")
);
CREATE INDEX IF NOT EXISTS "rowrelay_changes_orders_version" ON "shop"."rowrelay_changes_orders" ("rowrelay_version", "tenant", "id");
CREATE TABLE IF NOT EXISTS "shop"."rowrelay_changes_orders_state" (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	"rowrelay_floor" xid8 NOT NULL,
	"rowrelay_purged" xid8 NOT NULL DEFAULT '0'
);
CREATE TABLE IF NOT EXISTS "shop"."rowrelay_changes_orders_marks" (
	taken timestamptz NOT NULL,
	"rowrelay_version" xid8 NOT NULL
);
CREATE OR REPLACE FUNCTION "shop"."rowrelay_changes_orders_keep"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $rowrelay$
#variable_conflict use_column
DECLARE
	rowrelay_now CONSTANT xid8 := pg_current_xact_id();
	rowrelay_own CONSTANT boolean := lower(current_setting('rowrelay.context', true)) IS NOT DISTINCT FROM '0x52454c59';
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		INSERT INTO "shop"."rowrelay_changes_orders" AS c ("tenant", "id", "rowrelay_version", "rowrelay_created", "rowrelay_changed_61947941")
		SELECT "tenant", "id", rowrelay_now, '0'::xid8, CASE WHEN rowrelay_own THEN '0'::xid8 ELSE rowrelay_now END FROM "shop"."orders"
		ON CONFLICT ("tenant", "id") DO UPDATE SET "rowrelay_version" = rowrelay_now, "rowrelay_changed_61947941" = CASE WHEN excluded."rowrelay_changed_61947941" = rowrelay_now THEN rowrelay_now ELSE c."rowrelay_changed_61947941" END;
		RETURN NULL;
	END IF;
	IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND (OLD."tenant", OLD."id") IS DISTINCT FROM (NEW."tenant", NEW."id") THEN
		INSERT INTO "shop"."rowrelay_changes_orders" AS c ("tenant", "id", "rowrelay_version", "rowrelay_created", "rowrelay_changed_61947941")
		VALUES (OLD."tenant", OLD."id", rowrelay_now, '0'::xid8, CASE WHEN rowrelay_own THEN '0'::xid8 ELSE rowrelay_now END)
		ON CONFLICT ("tenant", "id") DO UPDATE SET "rowrelay_version" = rowrelay_now, "rowrelay_changed_61947941" = CASE WHEN excluded."rowrelay_changed_61947941" = rowrelay_now THEN rowrelay_now ELSE c."rowrelay_changed_61947941" END WHERE c."rowrelay_version" <> rowrelay_now OR excluded."rowrelay_changed_61947941" = rowrelay_now AND c."rowrelay_changed_61947941" <> rowrelay_now;
	END IF;
	IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND (OLD."tenant", OLD."id") IS DISTINCT FROM (NEW."tenant", NEW."id") THEN
		INSERT INTO "shop"."rowrelay_changes_orders" AS c ("tenant", "id", "rowrelay_version", "rowrelay_created", "rowrelay_changed_61947941")
		VALUES (NEW."tenant", NEW."id", rowrelay_now, rowrelay_now, CASE WHEN rowrelay_own THEN '0'::xid8 ELSE rowrelay_now END)
		ON CONFLICT ("tenant", "id") DO UPDATE SET "tenant" = excluded."tenant", "id" = excluded."id", "rowrelay_version" = rowrelay_now, "rowrelay_created" = rowrelay_now, "rowrelay_changed_61947941" = CASE WHEN excluded."rowrelay_changed_61947941" = rowrelay_now THEN rowrelay_now ELSE c."rowrelay_changed_61947941" END;
	ELSIF TG_OP = 'UPDATE' THEN
		INSERT INTO "shop"."rowrelay_changes_orders" AS c ("tenant", "id", "rowrelay_version", "rowrelay_created", "rowrelay_changed_61947941")
		VALUES (NEW."tenant", NEW."id", rowrelay_now, '0'::xid8, CASE WHEN OLD."note"::text IS DISTINCT FROM NEW."note"::text THEN CASE WHEN rowrelay_own THEN '0'::xid8 ELSE rowrelay_now END ELSE '0'::xid8 END)
		ON CONFLICT ("tenant", "id") DO UPDATE SET "tenant" = excluded."tenant", "id" = excluded."id", "rowrelay_version" = rowrelay_now, "rowrelay_changed_61947941" = CASE WHEN excluded."rowrelay_changed_61947941" = rowrelay_now THEN rowrelay_now ELSE c."rowrelay_changed_61947941" END WHERE c."rowrelay_version" <> rowrelay_now OR excluded."rowrelay_changed_61947941" = rowrelay_now AND c."rowrelay_changed_61947941" <> rowrelay_now;
	END IF;
	RETURN NULL;
END $rowrelay$;
REVOKE ALL ON FUNCTION "shop"."rowrelay_changes_orders_keep"() FROM PUBLIC;
DROP TRIGGER IF EXISTS "rowrelay_changes_orders_row" ON "shop"."orders";
CREATE TRIGGER "rowrelay_changes_orders_row" AFTER INSERT OR UPDATE OR DELETE ON "shop"."orders" FOR EACH ROW EXECUTE FUNCTION "shop"."rowrelay_changes_orders_keep"();
ALTER TABLE "shop"."orders" ENABLE ALWAYS TRIGGER "rowrelay_changes_orders_row";
DROP TRIGGER IF EXISTS "rowrelay_changes_orders_truncate" ON "shop"."orders";
CREATE TRIGGER "rowrelay_changes_orders_truncate" BEFORE TRUNCATE ON "shop"."orders" FOR EACH STATEMENT EXECUTE FUNCTION "shop"."rowrelay_changes_orders_keep"();
ALTER TABLE "shop"."orders" ENABLE ALWAYS TRIGGER "rowrelay_changes_orders_truncate";
INSERT INTO "shop"."rowrelay_changes_orders_state" ("rowrelay_floor") VALUES (pg_current_xact_id())
	ON CONFLICT (one) DO UPDATE SET "rowrelay_floor" = excluded."rowrelay_floor";
COMMIT;

-- uninstall
BEGIN;
SET LOCAL lock_timeout = '10s';
DROP FUNCTION IF EXISTS "shop"."rowrelay_changes_orders_keep"() CASCADE;
DROP TABLE IF EXISTS "shop"."rowrelay_changes_orders";
DROP TABLE IF EXISTS "shop"."rowrelay_changes_orders_state";
DROP TABLE IF EXISTS "shop"."rowrelay_changes_orders_marks";
COMMIT;

-- purge
BEGIN;
INSERT INTO "shop"."rowrelay_changes_orders_marks" VALUES (now(), pg_snapshot_xmin(pg_current_snapshot()));
DELETE FROM "shop"."rowrelay_changes_orders_marks" WHERE taken < (SELECT max(m.taken) FROM "shop"."rowrelay_changes_orders_marks" AS m
	WHERE m.taken <= now() - interval '3600 seconds');
UPDATE "shop"."rowrelay_changes_orders_state" SET "rowrelay_purged" = (SELECT "shop"."rowrelay_changes_orders"."rowrelay_version" FROM "shop"."rowrelay_changes_orders" WHERE (this OR "shop"."rowrelay_changes_orders"."rowrelay_version" < (SELECT m."rowrelay_version" FROM "shop"."rowrelay_changes_orders_marks" AS m WHERE m.taken <= now() - interval '3600 seconds'
	ORDER BY m.taken DESC LIMIT 1))
	AND (that OR "shop"."rowrelay_changes_orders"."rowrelay_version" < (SELECT m."rowrelay_version" FROM "shop"."rowrelay_changes_orders_marks" AS m WHERE m.taken <= now() - interval '3600 seconds'
	ORDER BY m.taken DESC LIMIT 1) AND NOT (near))
	AND NOT EXISTS (SELECT 1 FROM "shop"."orders" AS t WHERE t."tenant" = "shop"."rowrelay_changes_orders"."tenant" AND t."id" = "shop"."rowrelay_changes_orders"."id")
	ORDER BY "shop"."rowrelay_changes_orders"."rowrelay_version" DESC LIMIT 1)
WHERE EXISTS (SELECT 1 FROM "shop"."rowrelay_changes_orders" WHERE "shop"."rowrelay_changes_orders"."rowrelay_version" > "rowrelay_purged" AND (this OR "shop"."rowrelay_changes_orders"."rowrelay_version" < (SELECT m."rowrelay_version" FROM "shop"."rowrelay_changes_orders_marks" AS m WHERE m.taken <= now() - interval '3600 seconds'
	ORDER BY m.taken DESC LIMIT 1))
	AND (that OR "shop"."rowrelay_changes_orders"."rowrelay_version" < (SELECT m."rowrelay_version" FROM "shop"."rowrelay_changes_orders_marks" AS m WHERE m.taken <= now() - interval '3600 seconds'
	ORDER BY m.taken DESC LIMIT 1) AND NOT (near))
	AND NOT EXISTS (SELECT 1 FROM "shop"."orders" AS t WHERE t."tenant" = "shop"."rowrelay_changes_orders"."tenant" AND t."id" = "shop"."rowrelay_changes_orders"."id"));
DELETE FROM "shop"."rowrelay_changes_orders" WHERE (this OR "shop"."rowrelay_changes_orders"."rowrelay_version" < (SELECT m."rowrelay_version" FROM "shop"."rowrelay_changes_orders_marks" AS m WHERE m.taken <= now() - interval '3600 seconds'
	ORDER BY m.taken DESC LIMIT 1))
	AND (that OR "shop"."rowrelay_changes_orders"."rowrelay_version" < (SELECT m."rowrelay_version" FROM "shop"."rowrelay_changes_orders_marks" AS m WHERE m.taken <= now() - interval '3600 seconds'
	ORDER BY m.taken DESC LIMIT 1) AND NOT (near))
	AND NOT EXISTS (SELECT 1 FROM "shop"."orders" AS t WHERE t."tenant" = "shop"."rowrelay_changes_orders"."tenant" AND t."id" = "shop"."rowrelay_changes_orders"."id");
COMMIT;

-- rows
(
	SELECT c."tenant", c."id", t."note", c."rowrelay_version", c."rowrelay_created", t."tenant" AS "rowrelay_present", c."rowrelay_changed_61947941" AS "rowrelay_changed"
	FROM "shop"."rowrelay_changes_orders" AS c LEFT JOIN "shop"."orders" AS t ON t."tenant" = c."tenant" AND t."id" = c."id"
)
