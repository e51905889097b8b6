WITH rowrelay_s AS MATERIALIZED (
	SELECT x.s1, x.s2, concat_ws('|', pg_current_snapshot(), pg_is_in_recovery(), '', '', '') AS heard,
		ARRAY(SELECT i FROM pg_snapshot_xip(x.s1) AS i WHERE pg_visible_in_snapshot(i, x.s2) AND i > $1::xid8) AS late
	FROM (SELECT $2::text::pg_snapshot AS s1, $3::text::pg_snapshot AS s2) AS x
)
SELECT w.c0, w.c1, w.c2, w.c3, w.c4, w.heard, w.ended
FROM (
	(SELECT * FROM (
	(SELECT r."tenant" AS c0, r."id" AS c1, r."amount"::numeric AS c2, r."xid" AS c3, CASE WHEN (
amount > 0::money OR amount IS NULL
) THEN 'y' ELSE 'n' END AS c4, (SELECT heard FROM rowrelay_s) AS heard, NULL AS ended, r."xid" AS o0, r."tenant" AS o1, r."id" AS o2
FROM "shop"."orders" AS r
WHERE (r."xid", r."tenant", r."id") > ($4::xid8, $5::text, $6::int8) AND r."xid" <= $7::xid8 AND pg_visible_in_snapshot(r."xid", (SELECT s2 FROM rowrelay_s))
ORDER BY r."xid", r."tenant", r."id" LIMIT 501)
	UNION ALL
	(SELECT r."tenant" AS c0, r."id" AS c1, r."amount"::numeric AS c2, r."xid" AS c3, CASE WHEN (
amount > 0::money OR amount IS NULL
) THEN 'y' ELSE 'n' END AS c4, (SELECT heard FROM rowrelay_s) AS heard, NULL AS ended, r."xid" AS o0, r."tenant" AS o1, r."id" AS o2
FROM "shop"."orders" AS r
WHERE r."xid" = ANY ((SELECT late FROM rowrelay_s)::xid8[]) AND pg_visible_in_snapshot(r."xid", (SELECT s2 FROM rowrelay_s))
ORDER BY r."xid", r."tenant", r."id" LIMIT 501)
	UNION ALL
	(SELECT r."tenant" AS c0, r."id" AS c1, r."amount"::numeric AS c2, r."xid" AS c3, CASE WHEN (
amount > 0::money OR amount IS NULL
) THEN 'y' ELSE 'n' END AS c4, (SELECT heard FROM rowrelay_s) AS heard, NULL AS ended, r."xid" AS o0, r."tenant" AS o1, r."id" AS o2
FROM "shop"."orders" AS r
WHERE r."xid" >= (SELECT pg_snapshot_xmax(s1) FROM rowrelay_s) AND r."xid" < (SELECT pg_snapshot_xmax(s2) FROM rowrelay_s) AND pg_visible_in_snapshot(r."xid", (SELECT s2 FROM rowrelay_s))
ORDER BY r."xid", r."tenant", r."id" LIMIT 501)
	) AS u ORDER BY o0, o1, o2 LIMIT 501)
	UNION ALL
	SELECT NULL, NULL, NULL, NULL, NULL, heard, 'true', NULL, NULL, NULL FROM rowrelay_s
) AS w
ORDER BY w.o0, w.o1, w.o2
-- parameter: xid xid8 = 7
-- parameter: s1 text = 5:9:7
-- parameter: s2 text = 5:19:7,12
-- parameter: xid xid8 = 7
-- parameter: tenant text = a
-- parameter: id int8 = 1
-- parameter: xid xid8 = 7
