SELECT r."version", r."id"
FROM "shop"."orders" AS r
WHERE r."version" < ''
LIMIT 1
