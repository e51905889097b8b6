SELECT r."id", r."version"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
ORDER BY r."version", r."id"
LIMIT 501
