SELECT r."version", r."id"
FROM "shop"."orders" AS r
ORDER BY r."version" DESC, r."id" DESC
LIMIT 1
