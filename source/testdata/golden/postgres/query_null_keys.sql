SELECT COUNT(*)
FROM (
SELECT id, version FROM orders -- all of them
) AS r
WHERE r."id" IS NULL
