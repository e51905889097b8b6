WITH rowrelay_s AS MATERIALIZED (
	SELECT x.s2, concat_ws('|', pg_current_snapshot(), pg_is_in_recovery(), '', '', '') AS heard
	FROM (SELECT pg_current_snapshot() AS s2) AS x
)
SELECT w.c0, w.c1, w.c2, w.c3, w.c4, w.heard, w.ended
FROM (
	(SELECT * FROM (
	(SELECT r."tenant" AS c0, r."id" AS c1, r."amount"::numeric AS c2, r."xid" AS c3, CASE WHEN (
amount > 0::money OR amount IS NULL
) THEN 'y' ELSE 'n' END AS c4, (SELECT heard FROM rowrelay_s) AS heard, NULL AS ended, r."tenant" AS o0, r."id" AS o1
FROM "shop"."orders" AS r
WHERE pg_visible_in_snapshot(r."xid", (SELECT s2 FROM rowrelay_s))
ORDER BY r."tenant", r."id" LIMIT 501)
	) AS u ORDER BY o0, o1 LIMIT 501)
	UNION ALL
	SELECT NULL, NULL, NULL, NULL, NULL, heard, 'true', NULL, NULL FROM rowrelay_s
) AS w
ORDER BY w.o0, w.o1
