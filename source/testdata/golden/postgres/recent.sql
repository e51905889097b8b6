SELECT r."id", r."version", CASE WHEN r.tableoid = 16384 THEN r."xmin"::text ELSE '0' END
FROM (SELECT r.*, lead(1) OVER (ORDER BY r."version", r."id") AS "rowrelay follows"
FROM (SELECT r."id", r."version", r.tableoid, r.xmin
FROM "shop"."orders" AS r
WHERE (r."version", r."id") > ($1::int2, $2::int2) AND (r."version", r."id") <= ($3::int2, $4::int2)
ORDER BY r."version", r."id"
LIMIT 2000
) AS r) AS r
WHERE r."rowrelay follows" IS NULL OR (r.tableoid <> 16384 OR r.xmin::text::bigint < 3 OR (r.xmin::text::bigint - 4711) & 4294967295 < 2147483648)
ORDER BY r."version", r."id"
LIMIT 501
-- parameters: version, id, up to version, up to id
