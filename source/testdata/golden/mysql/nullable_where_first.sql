SELECT r.`id`, r.`updated_at`, r.`amount`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND (
status = 'new' OR status = 'paid' -- open ones
)
ORDER BY r.`updated_at`, r.`id`
LIMIT 501
