-- between two rows
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" > $1::int2 AND r."id" <= $2::int2
ORDER BY r."id"
LIMIT 501
-- parameters: id, up to id

-- up to a value, after another
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" > $1::int2 AND r."id" <= $2::int2
ORDER BY r."id"
LIMIT 501
-- parameters: id, up to id

-- count, after a row and up to a value
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."id" > $1::int2 AND r."id" <= $2::int2
-- parameters: id, up to id

-- count
SELECT COUNT(*)
FROM "shop"."orders" AS r

-- the last one of the next rows, up to a value
SELECT r."id"
FROM (SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" > $1::int2 AND r."id" <= $2::int2
ORDER BY r."id"
LIMIT 4096
) AS r
ORDER BY r."id" DESC
LIMIT 1
-- parameters: id, up to id

-- the last row below a value
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" < $1::int2
ORDER BY r."id" DESC
LIMIT 1
-- parameters: id

-- any row from a value on
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" >= $1::int2
LIMIT 1
-- parameters: id

-- by one key
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" IN ($1::int2)
-- parameters: id

-- by two keys
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" IN ($1::int2, $2::int2)
-- parameters: id, id

-- after a row, no order key of four
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" > $1::int2 AND (1 = 1
	AND (r."id" <> $2::int2)
	AND (r."id" IS NOT NULL)
	AND (r."id" <> $3::int2)
	AND (r."id" <> $4::int2))
ORDER BY r."id"
LIMIT 2
-- parameters: id, id, id, id

