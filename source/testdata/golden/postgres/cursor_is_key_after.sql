SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" > $1::int2
ORDER BY r."id"
LIMIT 501
-- parameters: id
