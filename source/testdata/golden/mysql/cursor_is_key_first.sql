SELECT r.`id`, r.`amount`
FROM `shop`.`orders` AS r
ORDER BY r.`id`
LIMIT 501
