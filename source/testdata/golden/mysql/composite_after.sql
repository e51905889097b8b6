SELECT r.`tenant`, r.`id`, r.`updated_at`, r.`version`, r.`payload`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND r.`updated_at` >= CAST(? AS DATETIME(6)) AND (r.`updated_at` > CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND (r.`version` > ? OR (r.`version` = ? AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?))))))
ORDER BY r.`updated_at`, r.`version`, r.`tenant`, r.`id`
LIMIT 501
-- parameters: updated_at, updated_at, updated_at, version, version, tenant, tenant, id
