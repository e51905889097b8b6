SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'server_uuid', 'gtid_domain_id', 'server_id',
	'sql_mode', 'read_only', 'wsrep_on');

SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.TABLE_TYPE, COALESCE(t.ENGINE, ''), VERSION(), COALESCE(CAST(t.CREATE_TIME AS CHAR), '')
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND t.TABLE_NAME = ?
ORDER BY t.TABLE_NAME;

SELECT c.COLUMN_NAME, LOWER(c.DATA_TYPE), c.COLUMN_TYPE, COALESCE(c.DATETIME_PRECISION, c.NUMERIC_SCALE, 0),
	COALESCE(c.NUMERIC_PRECISION, 0), c.IS_NULLABLE = 'YES', LOWER(c.EXTRA) LIKE '%on update%',
	COALESCE(c.COLLATION_NAME, ''), c.EXTRA LIKE '% GENERATED%', COALESCE(c.GENERATION_EXPRESSION, '') = 'ROW END'
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

SET @rowrelay_own_session = 1, time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES,ANSI_QUOTES', lock_wait_timeout = 28, max_execution_time = 28500, wait_timeout = 180 /*M!100300 , idle_transaction_timeout = 30 */ /*!80000 , information_schema_stats_expiry = 0 */;

SET @rowrelay_own_session = 1, time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES', lock_wait_timeout = 1, max_statement_time = 0.475, wait_timeout = 180 /*M!100300 , idle_transaction_timeout = 30 */ /*!80000 , information_schema_stats_expiry = 0 */;

