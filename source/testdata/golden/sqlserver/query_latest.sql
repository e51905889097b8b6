SELECT TOP (1) r.[version], r.[id]
FROM (
SELECT id, version FROM orders -- all of them
) AS r
ORDER BY r.[version] DESC, r.[id] DESC
