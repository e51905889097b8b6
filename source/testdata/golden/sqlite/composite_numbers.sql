SELECT +r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" < ''
LIMIT 1
