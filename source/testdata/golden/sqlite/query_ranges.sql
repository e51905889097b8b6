-- between two rows
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE (r."version", r."id") > (?1, ?2) AND (r."version", r."id") <= (?3, ?4)
ORDER BY r."version", r."id"
LIMIT 501
-- parameters: version, id, up to version, up to id

-- up to a value, after another
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" > ?1 AND r."version" <= ?2
ORDER BY r."version", r."id"
LIMIT 501
-- parameters: version, up to version

-- count, after a row and up to a value
SELECT COUNT(*)
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE (r."version", r."id") > (?1, ?2) AND r."version" <= ?3
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
WHERE (r."version", r."id") > (?1, ?2) AND r."version" <= ?3
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
WHERE r."version" < ?1
ORDER BY r."version" DESC, r."id" DESC
LIMIT 1
-- parameters: version

-- any row from a value on
SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" >= ?1
LIMIT 1
-- parameters: version

-- stored times: text of another form, up to a value
SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" >= ?1 AND r."version" < ?2 AND NOT (length(r."version") > 10 AND substr(r."version", 11, 1) = ?4 AND substr(ltrim(substr(r."version", 12), '0123456789:.'), 1, 6) = ?3 AND length(r."version") = 20)
ORDER BY r."version"
-- parameters: version, version, version, version

-- of all text
SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" >= ?1 AND NOT (length(r."version") > 10 AND substr(r."version", 11, 1) = ?2 AND substr(ltrim(substr(r."version", 12), '0123456789:.'), 1, 6) IN ('', '+00:00', '-00:00', '+00', ' +0000'))
ORDER BY r."version"
-- parameters: version, version

-- of another offset
SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" >= ?1 AND NOT (length(r."version") > 10 AND substr(r."version", 11, 1) = ?3 AND substr(ltrim(substr(r."version", 12), '0123456789:.'), 1, 6) = ?2)
ORDER BY r."version"
-- parameters: version, version, version

-- all but dates
SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" >= ?1 AND NOT (length(r."version") = 10)
ORDER BY r."version"
-- parameters: version

-- numbers of a smaller unit
SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" >= 1000000 AND r."version" < ?1 AND (r."version" < 6000000 OR r."version" >= 100000000)
LIMIT 1
-- parameters: version

-- values between two texts
SELECT r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" >= ?1 AND r."version" < ?2
ORDER BY r."version"
-- parameters: version, version

-- by one key
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."id" IN (?1)
ORDER BY r."version", r."id"
-- parameters: id

-- by two keys
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."id" IN (?1, ?2)
ORDER BY r."version", r."id"
-- parameters: id, id

-- after a row, no order key of four
SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE (r."version", r."id") > (?1, ?2) AND (1 = 1
	AND (r."id" <> ?3 OR r."version" <> ?4)
	AND (r."id" IS NOT NULL OR r."version" IS NOT NULL)
	AND (r."id" <> ?5 OR r."version" <> ?6)
	AND (r."id" <> ?7 OR r."version" <> ?8))
ORDER BY r."version", r."id"
LIMIT 2
-- parameters: version, id, id, version, id, version, id, version

