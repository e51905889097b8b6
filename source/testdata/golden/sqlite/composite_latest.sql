SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL
ORDER BY r."updated_at" DESC, r."version" DESC, r."tenant" DESC, r."id" DESC
LIMIT 1
