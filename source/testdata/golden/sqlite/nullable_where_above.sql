SELECT r."id", +r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r."updated_at" > ?1
ORDER BY r."updated_at", r."id"
LIMIT 501
-- parameters: updated_at
