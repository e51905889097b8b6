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

SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'server_uuid', 'gtid_domain_id', 'server_id',
	'sql_mode', 'read_only', 'wsrep_on');

SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.TABLE_TYPE, COALESCE(t.ENGINE, ''), VERSION(), COALESCE(CAST(t.CREATE_TIME AS CHAR), '')
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND t.TABLE_NAME = ?
ORDER BY t.TABLE_NAME;

SELECT c.COLUMN_NAME, LOWER(c.DATA_TYPE), c.COLUMN_TYPE, COALESCE(c.DATETIME_PRECISION, c.NUMERIC_SCALE, 0),
	COALESCE(c.NUMERIC_PRECISION, 0), c.IS_NULLABLE = 'YES', LOWER(c.EXTRA) LIKE '%on update%'
FROM information_schema.COLUMNS c
WHERE c.TABLE_SCHEMA = ? AND c.TABLE_NAME = ?
ORDER BY c.ORDINAL_POSITION;

SELECT s.INDEX_NAME, s.NON_UNIQUE = 0, COALESCE(s.COLUMN_NAME, ''), s.SUB_PART IS NOT NULL, COALESCE(s.COLLATION, ''),
	s.INDEX_TYPE, s.IS_VISIBLE = 'NO'
FROM information_schema.STATISTICS s
WHERE s.TABLE_SCHEMA = ? AND s.TABLE_NAME = ?
ORDER BY s.INDEX_NAME <> 'PRIMARY', s.INDEX_NAME, s.SEQ_IN_INDEX;

SELECT s.INDEX_NAME, s.NON_UNIQUE = 0, COALESCE(s.COLUMN_NAME, ''), s.SUB_PART IS NOT NULL, COALESCE(s.COLLATION, ''),
	s.INDEX_TYPE, s.IGNORED = 'YES'
FROM information_schema.STATISTICS s
WHERE s.TABLE_SCHEMA = ? AND s.TABLE_NAME = ?
ORDER BY s.INDEX_NAME <> 'PRIMARY', s.INDEX_NAME, s.SEQ_IN_INDEX;

SELECT k.CONSTRAINT_NAME, k.CHECK_CLAUSE
FROM information_schema.CHECK_CONSTRAINTS k
WHERE k.CONSTRAINT_SCHEMA = ? AND k.TABLE_NAME = ? AND k.LEVEL = 'Column';

SELECT r.*
FROM (
SELECT 1 AS a
) AS r
LIMIT 0;

SET @rowrelay_own_session = 1, time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES,ANSI_QUOTES', lock_wait_timeout = 28, max_execution_time = 28500;

SET @rowrelay_own_session = 1, time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES', lock_wait_timeout = 1, max_statement_time = 0.475;

