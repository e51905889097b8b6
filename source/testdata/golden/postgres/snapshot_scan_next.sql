WITH rowrelay_s AS MATERIALIZED (
	SELECT $1::text::pg_snapshot AS s2, pg_current_snapshot() AS now, pg_is_in_recovery() AS standby
)
SELECT w.c0, w.c1, w.c2, w.c3, s.s2::text, s.now::text, s.standby::text, (w.o0 IS NULL)::text
FROM rowrelay_s AS s LEFT JOIN (
	SELECT * FROM (
	(SELECT r."tenant" AS c0, r."id" AS c1, r."amount"::numeric AS c2, r."xid" AS c3, r."tenant" AS o0, r."id" AS o1
FROM "shop"."orders" AS r
WHERE (
amount > 0::money OR amount IS NULL
) AND (r."tenant", r."id") > ($2::text, $3::int8) AND pg_visible_in_snapshot(r."xid", (SELECT s2 FROM rowrelay_s))
ORDER BY r."tenant", r."id" LIMIT 501)
	) AS u ORDER BY o0, o1 LIMIT 501
) AS w ON true
ORDER BY w.o0, w.o1
-- parameter: scan text = 5:9:7
-- parameter: tenant text = a
-- parameter: id int8 = 1
