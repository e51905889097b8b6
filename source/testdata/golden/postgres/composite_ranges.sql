-- between two rows
SELECT r."tenant", r."id", r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version", r."tenant", r."id") > ($1::timestamp, $2::int2, $3::text, $4::int2) AND (r."updated_at", r."version", r."tenant", r."id") <= ($5::timestamp, $6::int2, $7::text, $8::int2)
ORDER BY r."updated_at", r."version", r."tenant", r."id"
LIMIT 501
-- parameters: updated_at, version, tenant, id, up to updated_at, up to version, up to tenant, up to id

-- up to a value, after another
SELECT r."tenant", r."id", r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version") > ($1::timestamp, $2::int2) AND (r."updated_at", r."version") <= ($3::timestamp, $4::int2)
ORDER BY r."updated_at", r."version", r."tenant", r."id"
LIMIT 501
-- parameters: updated_at, version, up to updated_at, up to version

-- count, after a row and up to a value
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version", r."tenant", r."id") > ($1::timestamp, $2::int2, $3::text, $4::int2) AND (r."updated_at", r."version") <= ($5::timestamp, $6::int2)
-- parameters: updated_at, version, tenant, id, up to updated_at, up to version

-- count
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL

-- the last one of the next rows, up to a value
SELECT r."updated_at", r."version", r."tenant", r."id"
FROM (SELECT r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version", r."tenant", r."id") > ($1::timestamp, $2::int2, $3::text, $4::int2) AND (r."updated_at", r."version") <= ($5::timestamp, $6::int2)
ORDER BY r."updated_at", r."version", r."tenant", r."id"
LIMIT 4096
) AS r
ORDER BY r."updated_at" DESC, r."version" DESC, r."tenant" DESC, r."id" DESC
LIMIT 1
-- parameters: updated_at, version, tenant, id, up to updated_at, up to version

-- the last row below a value
SELECT r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version") < ($1::timestamp, $2::int2)
ORDER BY r."updated_at" DESC, r."version" DESC, r."tenant" DESC, r."id" DESC
LIMIT 1
-- parameters: updated_at, version

-- any row from a value on
SELECT r."updated_at", r."version", r."tenant", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version") >= ($1::timestamp, $2::int2)
LIMIT 1
-- parameters: updated_at, version

-- by one key
SELECT r."tenant", r."id", r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."tenant" = $1::text AND r."id" = $2::int2)
-- parameters: tenant, id

-- by two keys
SELECT r."tenant", r."id", r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."tenant" = $1::text AND r."id" = $2::int2
	OR r."tenant" = $3::text AND r."id" = $4::int2)
-- parameters: tenant, id, tenant, id

-- after a row, no order key of four
SELECT r."tenant", r."id", r."updated_at", r."version", r."payload"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."version", r."tenant", r."id") > ($1::timestamp, $2::int2, $3::text, $4::int2) AND (1 = 1
	AND (r."tenant" <> $5::text OR r."id" <> $6::int2 OR r."version" <> $7::int2)
	AND (r."tenant" IS NOT NULL OR r."id" IS NOT NULL OR r."version" IS NOT NULL)
	AND (r."tenant" <> $8::text OR r."id" <> $9::int2 OR r."version" <> $10::int2)
	AND (r."tenant" <> $11::text OR r."id" <> $12::int2 OR r."version" <> $13::int2))
ORDER BY r."updated_at", r."version", r."tenant", r."id"
LIMIT 2
-- parameters: updated_at, version, tenant, id, tenant, id, version, tenant, id, version, tenant, id, version

