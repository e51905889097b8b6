SELECT r.`id`, r.`version`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`version` >= ? AND (r.`version` > ? OR (r.`version` = ? AND r.`id` > ?))
ORDER BY r.`version`, r.`id`
LIMIT 501
-- parameters: version, version, version, id
