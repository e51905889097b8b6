-- between two rows
SELECT r.`id`, r.`version`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`version` >= ? AND (r.`version` > ? OR (r.`version` = ? AND r.`id` > ?)) AND r.`version` <= ? AND (r.`version` < ? OR (r.`version` = ? AND r.`id` <= ?))
ORDER BY r.`version`, r.`id`
LIMIT 501
-- parameters: version, version, version, id, up to version, up to version, up to version, up to id

-- up to a value, after another
SELECT r.`id`, r.`version`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`version` > ? AND r.`version` <= ?
ORDER BY r.`version`, r.`id`
LIMIT 501
-- parameters: version, up to version

-- count, after a row and up to a value
SELECT COUNT(*)
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`version` >= ? AND (r.`version` > ? OR (r.`version` = ? AND r.`id` > ?)) AND r.`version` <= ?
-- parameters: version, version, version, id, up to version

-- count
SELECT COUNT(*)
FROM (
SELECT id, version FROM orders -- all of them
) AS r

-- the last one of the next rows, up to a value
SELECT r.`version`, r.`id`
FROM (SELECT r.`version`, r.`id`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`version` >= ? AND (r.`version` > ? OR (r.`version` = ? AND r.`id` > ?)) AND r.`version` <= ?
ORDER BY r.`version`, r.`id`
LIMIT 4096
) AS r
ORDER BY r.`version` DESC, r.`id` DESC
LIMIT 1
-- parameters: version, version, version, id, up to version

-- the last row below a value
SELECT r.`version`, r.`id`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`version` < ?
ORDER BY r.`version` DESC, r.`id` DESC
LIMIT 1
-- parameters: version

-- any row from a value on
SELECT r.`version`, r.`id`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`version` >= ?
LIMIT 1
-- parameters: version

-- by one key
SELECT r.`id`, r.`version`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`id` IN (?)
ORDER BY r.`version`, r.`id`
-- parameters: id

-- by two keys
SELECT r.`id`, r.`version`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`id` IN (?, ?)
ORDER BY r.`version`, r.`id`
-- parameters: id, id

-- after a row, no order key of four
SELECT r.`id`, r.`version`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`version` >= ? AND (r.`version` > ? OR (r.`version` = ? AND r.`id` > ?)) AND (1 = 1
	AND (r.`id` <> ? OR r.`version` <> ?)
	AND (r.`id` IS NOT NULL OR r.`version` IS NOT NULL)
	AND (r.`id` <> ? OR r.`version` <> ?)
	AND (r.`id` <> ? OR r.`version` <> ?))
ORDER BY r.`version`, r.`id`
LIMIT 2
-- parameters: version, version, version, id, id, version, id, version, id, version

