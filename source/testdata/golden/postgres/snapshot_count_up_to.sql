SELECT COUNT(*)
FROM (SELECT 1 AS n
FROM "shop"."orders" AS r
WHERE (
amount > 0::money OR amount IS NULL
) AND pg_visible_in_snapshot(r."xid", pg_current_snapshot()) AND NOT (pg_visible_in_snapshot(r."xid", $1::text::pg_snapshot)) AND r."xid" >= $2::text::xid8
LIMIT 1000
) AS c
