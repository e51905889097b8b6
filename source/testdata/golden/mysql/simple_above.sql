SELECT r.`id`, r.`version`
FROM `shop`.`orders` AS r
WHERE r.`version` > ?
ORDER BY r.`version`, r.`id`
LIMIT 501
-- parameters: version
