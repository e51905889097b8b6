SELECT r."id", r."version"
FROM "shop"."orders" AS r
WHERE r."version" > $1::int2
ORDER BY r."version", r."id"
LIMIT 501
-- parameters: version
