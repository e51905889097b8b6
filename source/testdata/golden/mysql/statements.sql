-- after by [at], parameters [0 0 0 1 1 2]
SELECT r.`tenant`, r.`id`, r.`at`, r.`ts`, r.`amount`, (r.`weight` + 0e0)
FROM `shop`.`or``ders` AS r
WHERE r.`at` IS NOT NULL AND (
weight > 1 OR id = 1
) AND r.`at` >= CAST(? AS DATETIME(6)) AND (r.`at` > CAST(? AS DATETIME(6)) OR (r.`at` = CAST(? AS DATETIME(6)) AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?))))
ORDER BY r.`at`, r.`tenant`, r.`id`
LIMIT 500;

-- after by [ts], parameters [0 0 0 1 1 2]
SELECT r.`tenant`, r.`id`, r.`at`, r.`ts`, r.`amount`, (r.`weight` + 0e0)
FROM `shop`.`or``ders` AS r
WHERE (
weight > 1 OR id = 1
) AND r.`ts` >= CAST(? AS DATETIME(3)) AND (r.`ts` > CAST(? AS DATETIME(3)) OR (r.`ts` = CAST(? AS DATETIME(3)) AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?))))
ORDER BY r.`ts`, r.`tenant`, r.`id`
LIMIT 500;

-- after by [amount], parameters [0 0 0 1 1 2]
SELECT r.`tenant`, r.`id`, r.`at`, r.`ts`, r.`amount`, (r.`weight` + 0e0)
FROM `shop`.`or``ders` AS r
WHERE (
weight > 1 OR id = 1
) AND r.`amount` >= CAST(? AS DECIMAL(20,5)) AND (r.`amount` > CAST(? AS DECIMAL(20,5)) OR (r.`amount` = CAST(? AS DECIMAL(20,5)) AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?))))
ORDER BY r.`amount`, r.`tenant`, r.`id`
LIMIT 500;

-- after by [id], parameters [0 0 0 1]
SELECT r.`tenant`, r.`id`, r.`at`, r.`ts`, r.`amount`, (r.`weight` + 0e0)
FROM `shop`.`or``ders` AS r
WHERE (
weight > 1 OR id = 1
) AND r.`id` >= ? AND (r.`id` > ? OR (r.`id` = ? AND r.`tenant` > ?))
ORDER BY r.`id`, r.`tenant`
LIMIT 500;

-- after by [ts amount], parameters [0 0 0 1 1 2 2 3]
SELECT r.`tenant`, r.`id`, r.`at`, r.`ts`, r.`amount`, (r.`weight` + 0e0)
FROM `shop`.`or``ders` AS r
WHERE (
weight > 1 OR id = 1
) AND r.`ts` >= CAST(? AS DATETIME(3)) AND (r.`ts` > CAST(? AS DATETIME(3)) OR (r.`ts` = CAST(? AS DATETIME(3)) AND (r.`amount` > CAST(? AS DECIMAL(20,5)) OR (r.`amount` = CAST(? AS DECIMAL(20,5)) AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?))))))
ORDER BY r.`ts`, r.`amount`, r.`tenant`, r.`id`
LIMIT 500;

-- query, first, parameters []
SELECT r.`id`, r.`at`, r.`tenant`
FROM (
SELECT * FROM o # all
) AS r
WHERE r.`at` IS NOT NULL
ORDER BY r.`at`, r.`tenant`, r.`id`
LIMIT 500;

-- query, above, parameters [0]
SELECT r.`id`, r.`at`, r.`tenant`
FROM (
SELECT * FROM o # all
) AS r
WHERE r.`at` IS NOT NULL AND r.`at` > CAST(? AS DATETIME(6))
ORDER BY r.`at`, r.`tenant`, r.`id`
LIMIT 500;

-- query, after, parameters [0 0 0 1 1 2]
SELECT r.`id`, r.`at`, r.`tenant`
FROM (
SELECT * FROM o # all
) AS r
WHERE r.`at` IS NOT NULL AND r.`at` >= CAST(? AS DATETIME(6)) AND (r.`at` > CAST(? AS DATETIME(6)) OR (r.`at` = CAST(? AS DATETIME(6)) AND (r.`tenant` > ? OR (r.`tenant` = ? AND r.`id` > ?))))
ORDER BY r.`at`, r.`tenant`, r.`id`
LIMIT 500;

-- query, latest, parameters []
SELECT r.`at`, r.`tenant`, r.`id`
FROM (
SELECT * FROM o # all
) AS r
WHERE r.`at` IS NOT NULL
ORDER BY r.`at` DESC, r.`tenant` DESC, r.`id` DESC
LIMIT 1;

-- query, nulls, parameters []
SELECT COUNT(*)
FROM (
SELECT * FROM o # all
) AS r
WHERE r.`at` IS NULL;

