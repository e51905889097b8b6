SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" > ?1
ORDER BY r."id"
LIMIT 501
-- parameters: id
