SELECT r."xid"::text, pg_snapshot_xmax(pg_current_snapshot())::text
FROM "shop"."orders" AS r
WHERE (
amount > 0::money OR amount IS NULL
) AND r."xid" >= pg_snapshot_xmax(pg_current_snapshot())
LIMIT 1
