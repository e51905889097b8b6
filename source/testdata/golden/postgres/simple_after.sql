SELECT r."id", r."version"
FROM "shop"."orders" AS r
WHERE (r."version", r."id") > ($1::int2, $2::int2)
ORDER BY r."version", r."id"
LIMIT 501
-- parameters: version, id
