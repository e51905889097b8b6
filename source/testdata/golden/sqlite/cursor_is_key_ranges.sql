-- between two rows
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" > ?1 AND r."id" <= ?2
ORDER BY r."id"
LIMIT 501
-- parameters: id, up to id

-- up to a value, after another
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" > ?1 AND r."id" <= ?2
ORDER BY r."id"
LIMIT 501
-- parameters: id, up to id

-- count, after a row and up to a value
SELECT COUNT(*)
FROM "shop"."orders" AS r
WHERE r."id" > ?1 AND r."id" <= ?2
-- parameters: id, up to id

-- count
SELECT COUNT(*)
FROM "shop"."orders" AS r

-- the last one of the next rows, up to a value
SELECT r."id"
FROM (SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" > ?1 AND r."id" <= ?2
ORDER BY r."id"
LIMIT 4096
) AS r
ORDER BY r."id" DESC
LIMIT 1
-- parameters: id, up to id

-- the last row below a value
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" < ?1
ORDER BY r."id" DESC
LIMIT 1
-- parameters: id

-- any row from a value on
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" >= ?1
LIMIT 1
-- parameters: id

-- stored times: text of another form, up to a value
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" >= ?1 AND r."id" < ?2 AND NOT (length(r."id") > 10 AND substr(r."id", 11, 1) = ?4 AND substr(ltrim(substr(r."id", 12), '0123456789:.'), 1, 6) = ?3 AND length(r."id") = 20)
ORDER BY r."id"
-- parameters: id, id, id, id

-- of all text
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" >= ?1 AND NOT (length(r."id") > 10 AND substr(r."id", 11, 1) = ?2 AND substr(ltrim(substr(r."id", 12), '0123456789:.'), 1, 6) IN ('', '+00:00', '-00:00', '+00', ' +0000'))
ORDER BY r."id"
-- parameters: id, id

-- of another offset
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" >= ?1 AND NOT (length(r."id") > 10 AND substr(r."id", 11, 1) = ?3 AND substr(ltrim(substr(r."id", 12), '0123456789:.'), 1, 6) = ?2)
ORDER BY r."id"
-- parameters: id, id, id

-- all but dates
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" >= ?1 AND NOT (length(r."id") = 10)
ORDER BY r."id"
-- parameters: id

-- numbers of a smaller unit
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" >= 1000000 AND r."id" < ?1 AND (r."id" < 6000000 OR r."id" >= 100000000)
LIMIT 1
-- parameters: id

-- values between two texts
SELECT r."id"
FROM "shop"."orders" AS r
WHERE r."id" >= ?1 AND r."id" < ?2
ORDER BY r."id"
-- parameters: id, id

-- by one key
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" IN (?1)
-- parameters: id

-- by two keys
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" IN (?1, ?2)
-- parameters: id, id

-- after a row, no order key of four
SELECT r."id", r."amount"
FROM "shop"."orders" AS r
WHERE r."id" > ?1 AND (1 = 1
	AND (r."id" <> ?2)
	AND (r."id" IS NOT NULL)
	AND (r."id" <> ?3)
	AND (r."id" <> ?4))
ORDER BY r."id"
LIMIT 2
-- parameters: id, id, id, id

