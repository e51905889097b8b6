SELECT r."tenant", r."id", +r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version") > (?1, ?2)
ORDER BY r."updated_at", r."version", r."tenant", r."id"
LIMIT 501
-- parameters: updated_at, version
