-- between two rows
SELECT r.`Select "x" [y] ``z`` 'é'`
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`Select "x" [y] ``z`` 'é'` >= ? AND (r.`Select "x" [y] ``z`` 'é'` > ? OR (r.`Select "x" [y] ``z`` 'é'` = ? AND r.`id` > ?)) AND r.`Select "x" [y] ``z`` 'é'` <= ? AND (r.`Select "x" [y] ``z`` 'é'` < ? OR (r.`Select "x" [y] ``z`` 'é'` = ? AND r.`id` <= ?))
ORDER BY r.`Select "x" [y] ``z`` 'é'`, r.`id`
LIMIT 501
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', id, up to Select "x" [y] `z` 'é', up to Select "x" [y] `z` 'é', up to Select "x" [y] `z` 'é', up to id

-- up to a value, after another
SELECT r.`Select "x" [y] ``z`` 'é'`
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`Select "x" [y] ``z`` 'é'` > ? AND r.`Select "x" [y] ``z`` 'é'` <= ?
ORDER BY r.`Select "x" [y] ``z`` 'é'`, r.`id`
LIMIT 501
-- parameters: Select "x" [y] `z` 'é', up to Select "x" [y] `z` 'é'

-- count, after a row and up to a value
SELECT COUNT(*)
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`Select "x" [y] ``z`` 'é'` >= ? AND (r.`Select "x" [y] ``z`` 'é'` > ? OR (r.`Select "x" [y] ``z`` 'é'` = ? AND r.`id` > ?)) AND r.`Select "x" [y] ``z`` 'é'` <= ?
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', id, up to Select "x" [y] `z` 'é'

-- count
SELECT COUNT(*)
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL

-- the last one of the next rows, up to a value
SELECT r.`Select "x" [y] ``z`` 'é'`, r.`id`
FROM (SELECT r.`Select "x" [y] ``z`` 'é'`, r.`id`
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`Select "x" [y] ``z`` 'é'` >= ? AND (r.`Select "x" [y] ``z`` 'é'` > ? OR (r.`Select "x" [y] ``z`` 'é'` = ? AND r.`id` > ?)) AND r.`Select "x" [y] ``z`` 'é'` <= ?
ORDER BY r.`Select "x" [y] ``z`` 'é'`, r.`id`
LIMIT 4096
) AS r
ORDER BY r.`Select "x" [y] ``z`` 'é'` DESC, r.`id` DESC
LIMIT 1
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', id, up to Select "x" [y] `z` 'é'

-- the last row below a value
SELECT r.`Select "x" [y] ``z`` 'é'`, r.`id`
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`Select "x" [y] ``z`` 'é'` < ?
ORDER BY r.`Select "x" [y] ``z`` 'é'` DESC, r.`id` DESC
LIMIT 1
-- parameters: Select "x" [y] `z` 'é'

-- any row from a value on
SELECT r.`Select "x" [y] ``z`` 'é'`, r.`id`
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`Select "x" [y] ``z`` 'é'` >= ?
LIMIT 1
-- parameters: Select "x" [y] `z` 'é'

-- by one key
SELECT r.`Select "x" [y] ``z`` 'é'`
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`id` IN (?)
-- parameters: id

-- by two keys
SELECT r.`Select "x" [y] ``z`` 'é'`
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`id` IN (?, ?)
-- parameters: id, id

-- after a row, no order key of four
SELECT r.`Select "x" [y] ``z`` 'é'`
FROM `a.b`.`O'Brien"s [x] ``y``` AS r
WHERE r.`Select "x" [y] ``z`` 'é'` IS NOT NULL AND r.`Select "x" [y] ``z`` 'é'` >= ? AND (r.`Select "x" [y] ``z`` 'é'` > ? OR (r.`Select "x" [y] ``z`` 'é'` = ? AND r.`id` > ?)) AND (1 = 1
	AND (r.`Select "x" [y] ``z`` 'é'` <> ? OR r.`Select "x" [y] ``z`` 'é'` IS NULL)
	AND (r.`Select "x" [y] ``z`` 'é'` IS NOT NULL)
	AND (r.`Select "x" [y] ``z`` 'é'` <> ? OR r.`Select "x" [y] ``z`` 'é'` IS NULL)
	AND (r.`Select "x" [y] ``z`` 'é'` <> ? OR r.`Select "x" [y] ``z`` 'é'` IS NULL))
ORDER BY r.`Select "x" [y] ``z`` 'é'`, r.`id`
LIMIT 2
-- parameters: Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', id, Select "x" [y] `z` 'é', Select "x" [y] `z` 'é', Select "x" [y] `z` 'é'

