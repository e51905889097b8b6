SELECT r."id"
FROM "shop"."orders" AS r
ORDER BY r."id" DESC
LIMIT 1
