SELECT r."id", r."version"
FROM "shop"."orders" AS r
WHERE (r."version", r."id") > (?1, ?2)
ORDER BY r."version", r."id"
LIMIT 501
-- parameters: version, id
