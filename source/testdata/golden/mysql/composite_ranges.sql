-- between two rows
SELECT r.`tenant`, r.`id`, r.`updated_at`, r.`version`, r.`payload`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND r.`updated_at` >= CAST(? AS DATETIME(6)) AND (r.`updated_at` > CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND (r.`version` > ? OR (r.`version` = ? AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?)))))) AND r.`updated_at` <= CAST(? AS DATETIME(6)) AND (r.`updated_at` < CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND (r.`version` < ? OR (r.`version` = ? AND (r.`tenant` < ? OR (r.`tenant` = ? AND r.`id` <= ?))))))
ORDER BY r.`updated_at`, r.`version`, r.`tenant`, r.`id`
LIMIT 501
-- parameters: updated_at, updated_at, updated_at, version, version, tenant, tenant, id, up to updated_at, up to updated_at, up to updated_at, up to version, up to version, up to tenant, up to tenant, up to id

-- up to a value, after another
SELECT r.`tenant`, r.`id`, r.`updated_at`, r.`version`, r.`payload`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND r.`updated_at` >= CAST(? AS DATETIME(6)) AND (r.`updated_at` > CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND r.`version` > ?)) AND r.`updated_at` <= CAST(? AS DATETIME(6)) AND (r.`updated_at` < CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND r.`version` <= ?))
ORDER BY r.`updated_at`, r.`version`, r.`tenant`, r.`id`
LIMIT 501
-- parameters: updated_at, updated_at, updated_at, version, up to updated_at, up to updated_at, up to updated_at, up to version

-- count, after a row and up to a value
SELECT COUNT(*)
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND r.`updated_at` >= CAST(? AS DATETIME(6)) AND (r.`updated_at` > CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND (r.`version` > ? OR (r.`version` = ? AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?)))))) AND r.`updated_at` <= CAST(? AS DATETIME(6)) AND (r.`updated_at` < CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND r.`version` <= ?))
-- parameters: updated_at, updated_at, updated_at, version, version, tenant, tenant, id, up to updated_at, up to updated_at, up to updated_at, up to version

-- count
SELECT COUNT(*)
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL

-- the last one of the next rows, up to a value
SELECT r.`updated_at`, r.`version`, r.`tenant`, r.`id`
FROM (SELECT r.`updated_at`, r.`version`, r.`tenant`, r.`id`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND r.`updated_at` >= CAST(? AS DATETIME(6)) AND (r.`updated_at` > CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND (r.`version` > ? OR (r.`version` = ? AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?)))))) AND r.`updated_at` <= CAST(? AS DATETIME(6)) AND (r.`updated_at` < CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND r.`version` <= ?))
ORDER BY r.`updated_at`, r.`version`, r.`tenant`, r.`id`
LIMIT 4096
) AS r
ORDER BY r.`updated_at` DESC, r.`version` DESC, r.`tenant` DESC, r.`id` DESC
LIMIT 1
-- parameters: updated_at, updated_at, updated_at, version, version, tenant, tenant, id, up to updated_at, up to updated_at, up to updated_at, up to version

-- the last row below a value
SELECT r.`updated_at`, r.`version`, r.`tenant`, r.`id`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND r.`updated_at` <= CAST(? AS DATETIME(6)) AND (r.`updated_at` < CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND r.`version` < ?))
ORDER BY r.`updated_at` DESC, r.`version` DESC, r.`tenant` DESC, r.`id` DESC
LIMIT 1
-- parameters: updated_at, updated_at, updated_at, version

-- any row from a value on
SELECT r.`updated_at`, r.`version`, r.`tenant`, r.`id`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND r.`updated_at` >= CAST(? AS DATETIME(6)) AND (r.`updated_at` > CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND r.`version` >= ?))
LIMIT 1
-- parameters: updated_at, updated_at, updated_at, version

-- by one key
SELECT r.`tenant`, r.`id`, r.`updated_at`, r.`version`, r.`payload`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND (r.`tenant` = ? AND r.`id` = ?)
-- parameters: tenant, id

-- by two keys
SELECT r.`tenant`, r.`id`, r.`updated_at`, r.`version`, r.`payload`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND (r.`tenant` = ? AND r.`id` = ?
	OR r.`tenant` = ? AND r.`id` = ?)
-- parameters: tenant, id, tenant, id

-- after a row, no order key of four
SELECT r.`tenant`, r.`id`, r.`updated_at`, r.`version`, r.`payload`
FROM `shop`.`orders` AS r
WHERE r.`updated_at` IS NOT NULL AND r.`updated_at` >= CAST(? AS DATETIME(6)) AND (r.`updated_at` > CAST(? AS DATETIME(6)) OR (r.`updated_at` = CAST(? AS DATETIME(6)) AND (r.`version` > ? OR (r.`version` = ? AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?)))))) AND (1 = 1
	AND (r.`tenant` <> ? OR r.`id` <> ? OR r.`version` <> ?)
	AND (r.`tenant` IS NOT NULL OR r.`id` IS NOT NULL OR r.`version` IS NOT NULL)
	AND (r.`tenant` <> ? OR r.`id` <> ? OR r.`version` <> ?)
	AND (r.`tenant` <> ? OR r.`id` <> ? OR r.`version` <> ?))
ORDER BY r.`updated_at`, r.`version`, r.`tenant`, r.`id`
LIMIT 2
-- parameters: updated_at, updated_at, updated_at, version, version, tenant, tenant, id, tenant, id, version, tenant, id, version, tenant, id, version

