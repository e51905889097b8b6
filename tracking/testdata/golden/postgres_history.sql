BEGIN;
SET LOCAL lock_timeout = '10s';
CREATE TABLE "shop"."rowrelay_history_orders" (
	"rowrelay_change" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	"rowrelay_operation" text NOT NULL,
	"rowrelay_written" timestamptz NOT NULL DEFAULT clock_timestamp(),
	"rowrelay_context" text,
	"tenant" varchar(20) NOT NULL,
	"id" bigint NOT NULL,
	"note" text,
	"rowrelay_was_tenant" varchar(20),
	"rowrelay_was_id" bigint,
	"rowrelay_was_note" text
);
DROP FUNCTION IF EXISTS "shop"."rowrelay_history_orders_keep"() CASCADE;
CREATE OR REPLACE FUNCTION "shop"."rowrelay_history_orders_keep"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $rowrelay$
#variable_conflict use_column
DECLARE
	rowrelay_own CONSTANT text := nullif(lower(current_setting('rowrelay.context', true)), '');
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		INSERT INTO "shop"."rowrelay_history_orders" ("rowrelay_operation", "rowrelay_context", "tenant", "id", "note")
		SELECT 'delete', rowrelay_own, t."tenant", t."id", t."note" FROM "shop"."orders" AS t ORDER BY t."tenant", t."id";
		RETURN NULL;
	END IF;
	IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND (OLD."tenant", OLD."id") IS DISTINCT FROM (NEW."tenant", NEW."id") THEN
		INSERT INTO "shop"."rowrelay_history_orders" ("rowrelay_operation", "rowrelay_context", "tenant", "id", "note")
		SELECT 'delete', rowrelay_own, OLD."tenant", OLD."id", OLD."note";
	END IF;
	IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND (OLD."tenant", OLD."id") IS DISTINCT FROM (NEW."tenant", NEW."id") THEN
		INSERT INTO "shop"."rowrelay_history_orders" ("rowrelay_operation", "rowrelay_context", "tenant", "id", "note")
		SELECT 'insert', rowrelay_own, NEW."tenant", NEW."id", NEW."note";
	ELSIF TG_OP = 'UPDATE' THEN
		INSERT INTO "shop"."rowrelay_history_orders" ("rowrelay_operation", "rowrelay_context", "tenant", "id", "note", "rowrelay_was_tenant", "rowrelay_was_id", "rowrelay_was_note")
		SELECT 'update', rowrelay_own, NEW."tenant", NEW."id", NEW."note", OLD."tenant", OLD."id", OLD."note";
	END IF;
	RETURN NULL;
END $rowrelay$;
REVOKE ALL ON FUNCTION "shop"."rowrelay_history_orders_keep"() FROM PUBLIC;
CREATE TABLE IF NOT EXISTS "shop"."rowrelay_history_orders_state" (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	"rowrelay_floor" bigint NOT NULL
);
DROP TRIGGER IF EXISTS "0_rowrelay_history_orders_row" ON "shop"."orders";
CREATE TRIGGER "0_rowrelay_history_orders_row" AFTER INSERT OR UPDATE OR DELETE ON "shop"."orders" FOR EACH ROW EXECUTE FUNCTION "shop"."rowrelay_history_orders_keep"();
ALTER TABLE "shop"."orders" ENABLE ALWAYS TRIGGER "0_rowrelay_history_orders_row";
DROP TRIGGER IF EXISTS "0_rowrelay_history_orders_truncate" ON "shop"."orders";
CREATE TRIGGER "0_rowrelay_history_orders_truncate" BEFORE TRUNCATE ON "shop"."orders" FOR EACH STATEMENT EXECUTE FUNCTION "shop"."rowrelay_history_orders_keep"();
ALTER TABLE "shop"."orders" ENABLE ALWAYS TRIGGER "0_rowrelay_history_orders_truncate";
INSERT INTO "shop"."rowrelay_history_orders_state" ("rowrelay_floor") SELECT setval(pg_get_serial_sequence('"shop"."rowrelay_history_orders"', 'rowrelay_change')::regclass, GREATEST(nextval(pg_get_serial_sequence('"shop"."rowrelay_history_orders"', 'rowrelay_change')::regclass),
	(extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
	ON CONFLICT (one) DO UPDATE SET "rowrelay_floor" = excluded."rowrelay_floor";
COMMIT;

BEGIN;
-- as above: SET LOCAL lock_timeout = '10s';
ALTER TABLE "shop"."rowrelay_history_orders" ADD COLUMN "note" text;
ALTER TABLE "shop"."rowrelay_history_orders" ADD COLUMN "rowrelay_was_note" text;
-- as above: CREATE OR REPLACE FUNCTION "shop"."rowrelay_history_orders_keep"() RETURNS trigger;
-- as above: REVOKE ALL ON FUNCTION "shop"."rowrelay_history_orders_keep"() FROM PUBLIC;
ALTER TABLE "shop"."rowrelay_history_orders" DROP COLUMN "gone";
ALTER TABLE "shop"."rowrelay_history_orders" DROP COLUMN "rowrelay_was_gone";
COMMIT;

-- uninstall
BEGIN;
SET LOCAL lock_timeout = '10s';
DROP FUNCTION IF EXISTS "shop"."rowrelay_history_orders_keep"() CASCADE;
DROP TABLE IF EXISTS "shop"."rowrelay_history_orders";
DROP TABLE IF EXISTS "shop"."rowrelay_history_orders_state";
DROP TABLE IF EXISTS "shop"."rowrelay_history_orders_marks";
COMMIT;
