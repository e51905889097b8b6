-- after the beginning
SELECT r.`id`, r.`note`, r.`c`
FROM `orders` AS r
WHERE r.`c` < CAST((UTC_TIMESTAMP(6) + INTERVAL 7110 SECOND) AS DATETIME(6))
ORDER BY r.`c`, r.`id`
LIMIT 501
-- after a row
SELECT r.`id`, r.`note`, r.`c`
FROM `orders` AS r
WHERE r.`c` >= CAST(? AS DATETIME(6)) AND (r.`c` > CAST(? AS DATETIME(6)) OR (r.`c` = CAST(? AS DATETIME(6)) AND r.`id` > ?)) AND r.`c` < CAST((UTC_TIMESTAMP(6) + INTERVAL 7110 SECOND) AS DATETIME(6))
ORDER BY r.`c`, r.`id`
LIMIT 501
-- parameter: c datetime(6)
-- parameter: c datetime(6)
-- parameter: c datetime(6)
-- parameter: id tinyint
