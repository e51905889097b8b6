-- between two rows
SELECT r."id", r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND (r."updated_at", r."id") > ($1::timestamp, $2::int2) AND (r."updated_at", r."id") <= ($3::timestamp, $4::int2)
ORDER BY r."updated_at", r."id"
LIMIT 501
-- parameters: updated_at, id, up to updated_at, up to id

-- up to a value, after another
SELECT r."id", r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r."updated_at" > $1::timestamp AND r."updated_at" <= $2::timestamp
ORDER BY r."updated_at", r."id"
LIMIT 501
-- parameters: updated_at, up to updated_at

-- count, after a row and up to a value
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND (r."updated_at", r."id") > ($1::timestamp, $2::int2) AND r."updated_at" <= $3::timestamp
-- parameters: updated_at, id, up to updated_at

-- count
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
)

-- the last one of the next rows, up to a value
SELECT r."updated_at", r."id"
FROM (SELECT r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (r."updated_at", r."id") > ($1::timestamp, $2::int2) AND r."updated_at" <= $3::timestamp
ORDER BY r."updated_at", r."id"
LIMIT 4096
) AS r
ORDER BY r."updated_at" DESC, r."id" DESC
LIMIT 1
-- parameters: updated_at, id, up to updated_at

-- the last row below a value
SELECT r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND r."updated_at" < $1::timestamp
ORDER BY r."updated_at" DESC, r."id" DESC
LIMIT 1
-- parameters: updated_at

-- any row from a value on
SELECT r."updated_at", r."id"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND r."updated_at" >= $1::timestamp
LIMIT 1
-- parameters: updated_at

-- by one key
SELECT r."id", r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r."id" IN ($1::int2)
-- parameters: id

-- by two keys
SELECT r."id", r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND r."id" IN ($1::int2, $2::int2)
-- parameters: id, id

-- after a row, no order key of four
SELECT r."id", r."updated_at", r."amount"
FROM "shop"."orders" AS r
WHERE r."updated_at" IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
) AND (r."updated_at", r."id") > ($1::timestamp, $2::int2) AND (1 = 1
	AND (r."id" <> $3::int2)
	AND (r."id" IS NOT NULL)
	AND (r."id" <> $4::int2)
	AND (r."id" <> $5::int2))
ORDER BY r."updated_at", r."id"
LIMIT 2
-- parameters: updated_at, id, id, id, id

