-- between two rows
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE (r."version", r."id") > ($1::int2, $2::int2) AND (r."version", r."id") <= ($3::int2, $4::int2)
ORDER BY r."version", r."id"
LIMIT 501
-- parameters: version, id, up to version, up to id

-- up to a value, after another
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" > $1::int2 AND r."version" <= $2::int2
ORDER BY r."version", r."id"
LIMIT 501
-- parameters: version, up to version

-- count, after a row and up to a value
SELECT COUNT(*)
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE (r."version", r."id") > ($1::int2, $2::int2) AND r."version" <= $3::int2
-- parameters: version, id, up to version

-- count
SELECT COUNT(*)
FROM (
SELECT id, version FROM orders -- all of them
) AS r

-- the last one of the next rows, up to a value
SELECT r."version", r."id"
FROM (SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE (r."version", r."id") > ($1::int2, $2::int2) AND r."version" <= $3::int2
ORDER BY r."version", r."id"
LIMIT 4096
) AS r
ORDER BY r."version" DESC, r."id" DESC
LIMIT 1
-- parameters: version, id, up to version

-- the last row below a value
SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" < $1::int2
ORDER BY r."version" DESC, r."id" DESC
LIMIT 1
-- parameters: version

-- any row from a value on
SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" >= $1::int2
LIMIT 1
-- parameters: version

-- by one key
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."id" IN ($1::int2)
ORDER BY r."version", r."id"
-- parameters: id

-- by two keys
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."id" IN ($1::int2, $2::int2)
ORDER BY r."version", r."id"
-- parameters: id, id

-- after a row, no order key of four
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE (r."version", r."id") > ($1::int2, $2::int2) AND (1 = 1
	AND (r."id" <> $3::int2 OR r."version" <> $4::int2)
	AND (r."id" IS NOT NULL OR r."version" IS NOT NULL)
	AND (r."id" <> $5::int2 OR r."version" <> $6::int2)
	AND (r."id" <> $7::int2 OR r."version" <> $8::int2))
ORDER BY r."version", r."id"
LIMIT 2
-- parameters: version, id, id, version, id, version, id, version

