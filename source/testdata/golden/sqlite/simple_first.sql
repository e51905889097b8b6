SELECT r."id", r."version"
FROM "shop"."orders" AS r
ORDER BY r."version", r."id"
LIMIT 501
