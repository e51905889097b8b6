SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE (
amount > 0::money OR amount IS NULL
) AND pg_visible_in_snapshot(r."xid", pg_current_snapshot()) AND NOT (pg_visible_in_snapshot(r."xid", $1::text::pg_snapshot) AND NOT (r."tenant", r."id") > ($2::text, $3::int8))
