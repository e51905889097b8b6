-- between two rows
SELECT r.`id`, r.`amount`
FROM `shop`.`orders` AS r
WHERE r.`id` > ? AND r.`id` <= ?
ORDER BY r.`id`
LIMIT 501
-- parameters: id, up to id

-- up to a value, after another
SELECT r.`id`, r.`amount`
FROM `shop`.`orders` AS r
WHERE r.`id` > ? AND r.`id` <= ?
ORDER BY r.`id`
LIMIT 501
-- parameters: id, up to id

-- count, after a row and up to a value
SELECT COUNT(*)
FROM `shop`.`orders` AS r
WHERE r.`id` > ? AND r.`id` <= ?
-- parameters: id, up to id

-- count
SELECT COUNT(*)
FROM `shop`.`orders` AS r

-- the last one of the next rows, up to a value
SELECT r.`id`
FROM (SELECT r.`id`
FROM `shop`.`orders` AS r
WHERE r.`id` > ? AND r.`id` <= ?
ORDER BY r.`id`
LIMIT 4096
) AS r
ORDER BY r.`id` DESC
LIMIT 1
-- parameters: id, up to id

-- the last row below a value
SELECT r.`id`
FROM `shop`.`orders` AS r
WHERE r.`id` < ?
ORDER BY r.`id` DESC
LIMIT 1
-- parameters: id

-- any row from a value on
SELECT r.`id`
FROM `shop`.`orders` AS r
WHERE r.`id` >= ?
LIMIT 1
-- parameters: id

-- by one key
SELECT r.`id`, r.`amount`
FROM `shop`.`orders` AS r
WHERE r.`id` IN (?)
-- parameters: id

-- by two keys
SELECT r.`id`, r.`amount`
FROM `shop`.`orders` AS r
WHERE r.`id` IN (?, ?)
-- parameters: id, id

-- after a row, no order key of four
SELECT r.`id`, r.`amount`
FROM `shop`.`orders` AS r
WHERE r.`id` > ? AND (1 = 1
	AND (r.`id` <> ?)
	AND (r.`id` IS NOT NULL)
	AND (r.`id` <> ?)
	AND (r.`id` <> ?))
ORDER BY r.`id`
LIMIT 2
-- parameters: id, id, id, id

