SELECT pg_current_snapshot()::text, pg_is_in_recovery()::text, (
	SELECT r."xid"::text
FROM "shop"."orders" AS r
WHERE r."xid" IS NOT NULL ORDER BY r."xid" DESC LIMIT 1)
