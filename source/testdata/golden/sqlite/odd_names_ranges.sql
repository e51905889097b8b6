-- between two rows
SELECT r."Select ""x"" [y] `z` 'é'"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL AND (r."Select ""x"" [y] `z` 'é'", r."id") > (?1, ?2) AND (r."Select ""x"" [y] `z` 'é'", r."id") <= (?3, ?4)
ORDER BY r."Select ""x"" [y] `z` 'é'", r."id"
LIMIT 501
-- parameters: Select "x" [y] `z` 'é', id, up to Select "x" [y] `z` 'é', up to id

-- up to a value, after another
SELECT r."Select ""x"" [y] `z` 'é'"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL AND r."Select ""x"" [y] `z` 'é'" > ?1 AND r."Select ""x"" [y] `z` 'é'" <= ?2
ORDER BY r."Select ""x"" [y] `z` 'é'", r."id"
LIMIT 501
-- parameters: Select "x" [y] `z` 'é', up to Select "x" [y] `z` 'é'

-- count, after a row and up to a value
SELECT COUNT(*)
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL AND (r."Select ""x"" [y] `z` 'é'", r."id") > (?1, ?2) AND r."Select ""x"" [y] `z` 'é'" <= ?3
-- parameters: Select "x" [y] `z` 'é', id, up to Select "x" [y] `z` 'é'

-- count
SELECT COUNT(*)
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL

-- the last one of the next rows, up to a value
SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM (SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL AND (r."Select ""x"" [y] `z` 'é'", r."id") > (?1, ?2) AND r."Select ""x"" [y] `z` 'é'" <= ?3
ORDER BY r."Select ""x"" [y] `z` 'é'", r."id"
LIMIT 4096
) AS r
ORDER BY r."Select ""x"" [y] `z` 'é'" DESC, r."id" DESC
LIMIT 1
-- parameters: Select "x" [y] `z` 'é', id, up to Select "x" [y] `z` 'é'

-- the last row below a value
SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL AND r."Select ""x"" [y] `z` 'é'" < ?1
ORDER BY r."Select ""x"" [y] `z` 'é'" DESC, r."id" DESC
LIMIT 1
-- parameters: Select "x" [y] `z` 'é'

-- any row from a value on
SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL AND r."Select ""x"" [y] `z` 'é'" >= ?1
LIMIT 1
-- parameters: Select "x" [y] `z` 'é'

-- stored times: text of another form, up to a value
SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" >= ?1 AND r."Select ""x"" [y] `z` 'é'" < ?2 AND NOT (length(r."Select ""x"" [y] `z` 'é'") > 10 AND substr(r."Select ""x"" [y] `z` 'é'", 11, 1) = ?4 AND substr(ltrim(substr(r."Select ""x"" [y] `z` 'é'", 12), '0123456789:.'), 1, 6) = ?3 AND length(r."Select ""x"" [y] `z` 'é'") = 20)
ORDER BY r."Select ""x"" [y] `z` 'é'"
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é'

-- of all text
SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" >= ?1 AND NOT (length(r."Select ""x"" [y] `z` 'é'") > 10 AND substr(r."Select ""x"" [y] `z` 'é'", 11, 1) = ?2 AND substr(ltrim(substr(r."Select ""x"" [y] `z` 'é'", 12), '0123456789:.'), 1, 6) IN ('', '+00:00', '-00:00', '+00', ' +0000'))
ORDER BY r."Select ""x"" [y] `z` 'é'"
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é'

-- of another offset
SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" >= ?1 AND NOT (length(r."Select ""x"" [y] `z` 'é'") > 10 AND substr(r."Select ""x"" [y] `z` 'é'", 11, 1) = ?3 AND substr(ltrim(substr(r."Select ""x"" [y] `z` 'é'", 12), '0123456789:.'), 1, 6) = ?2)
ORDER BY r."Select ""x"" [y] `z` 'é'"
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é'

-- all but dates
SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" >= ?1 AND NOT (length(r."Select ""x"" [y] `z` 'é'") = 10)
ORDER BY r."Select ""x"" [y] `z` 'é'"
-- parameters: Select "x" [y] `z` 'é'

-- numbers of a smaller unit
SELECT r."Select ""x"" [y] `z` 'é'", r."id"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" >= 1000000 AND r."Select ""x"" [y] `z` 'é'" < ?1 AND (r."Select ""x"" [y] `z` 'é'" < 6000000 OR r."Select ""x"" [y] `z` 'é'" >= 100000000)
LIMIT 1
-- parameters: Select "x" [y] `z` 'é'

-- values between two texts
SELECT r."Select ""x"" [y] `z` 'é'"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" >= ?1 AND r."Select ""x"" [y] `z` 'é'" < ?2
ORDER BY r."Select ""x"" [y] `z` 'é'"
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é'

-- by one key
SELECT r."Select ""x"" [y] `z` 'é'"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL AND r."id" IN (?1)
-- parameters: id

-- by two keys
SELECT r."Select ""x"" [y] `z` 'é'"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL AND r."id" IN (?1, ?2)
-- parameters: id, id

-- after a row, no order key of four
SELECT r."Select ""x"" [y] `z` 'é'"
FROM "a.b"."O'Brien""s [x] `y`" AS r
WHERE r."Select ""x"" [y] `z` 'é'" IS NOT NULL AND (r."Select ""x"" [y] `z` 'é'", r."id") > (?1, ?2) AND (1 = 1
	AND (r."Select ""x"" [y] `z` 'é'" <> ?3 OR r."Select ""x"" [y] `z` 'é'" IS NULL)
	AND (r."Select ""x"" [y] `z` 'é'" IS NOT NULL)
	AND (r."Select ""x"" [y] `z` 'é'" <> ?4 OR r."Select ""x"" [y] `z` 'é'" IS NULL)
	AND (r."Select ""x"" [y] `z` 'é'" <> ?5 OR r."Select ""x"" [y] `z` 'é'" IS NULL))
ORDER BY r."Select ""x"" [y] `z` 'é'", r."id"
LIMIT 2
-- parameters: Select "x" [y] `z` 'é', id, Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é'

