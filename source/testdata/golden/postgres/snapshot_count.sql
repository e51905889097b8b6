SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE (
amount > 0::money OR amount IS NULL
) AND pg_visible_in_snapshot(r."xid", $1::text::pg_snapshot) AND NOT (pg_visible_in_snapshot(r."xid", $2::text::pg_snapshot)) AND r."xid" >= $3::text::xid8
