SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE (
amount > 0::money OR amount IS NULL
) AND pg_visible_in_snapshot(r."xid", pg_current_snapshot()) AND NOT ((pg_visible_in_snapshot(r."xid", $1::text::pg_snapshot) OR pg_visible_in_snapshot(r."xid", $2::text::pg_snapshot) AND NOT (r."xid", r."tenant", r."id") > ($3::xid8, $4::text, $5::int8))) AND r."xid" >= $6::text::xid8
