SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NULL AND (
status = 'new' OR status = 'paid' -- open ones
)
