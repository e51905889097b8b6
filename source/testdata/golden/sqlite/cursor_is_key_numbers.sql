SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" < ''
LIMIT 1
