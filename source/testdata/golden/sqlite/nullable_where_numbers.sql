SELECT +r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" < '' AND (
status = 'new' OR status = 'paid' -- open ones
)
LIMIT 1
