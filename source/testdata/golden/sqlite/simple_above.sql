SELECT r."id", r."version"
FROM "shop"."orders" AS r
WHERE r."version" > ?1
ORDER BY r."version", r."id"
LIMIT 501
-- parameters: version
