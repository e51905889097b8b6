SELECT concat_ws('|', pg_current_snapshot(), pg_is_in_recovery(), '', '', ''), (
	SELECT r."xid"::text
FROM "shop"."orders" AS r
WHERE r."xid" IS NOT NULL ORDER BY r."xid" DESC LIMIT 1)
