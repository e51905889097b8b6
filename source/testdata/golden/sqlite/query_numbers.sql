SELECT r."version", r."id"
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."version" < ''
LIMIT 1
