SELECT r.`id`, r.`version`
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r.`version` > ?
ORDER BY r.`version`, r.`id`
LIMIT 501
-- parameters: version
