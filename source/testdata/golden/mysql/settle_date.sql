-- after the beginning
SELECT r.`id`, r.`note`, r.`c`
FROM `orders` AS r
WHERE r.`c` < CAST((UTC_TIMESTAMP(6) + INTERVAL 7110 SECOND) AS DATE)
ORDER BY r.`c`, r.`id`
LIMIT 501
-- after a row
SELECT r.`id`, r.`note`, r.`c`
FROM `orders` AS r
WHERE r.`c` >= CAST(? AS DATE) AND (r.`c` > CAST(? AS DATE) OR (r.`c` = CAST(? AS DATE) AND r.`id` > ?)) AND r.`c` < CAST((UTC_TIMESTAMP(6) + INTERVAL 7110 SECOND) AS DATE)
ORDER BY r.`c`, r.`id`
LIMIT 501
-- parameter: c date
-- parameter: c date
-- parameter: c date
-- parameter: id tinyint
