-- look
SELECT (SELECT COALESCE(c.info, '') FROM `shop`.`rowrelay_claims` c WHERE c.outbox = ? AND c.unit = 'pause'), CASE WHEN EXISTS (SELECT 1 FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)) THEN 1 WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state = 'FAILED' AND s.next_attempt_at <= UTC_TIMESTAMP(6) AND 1 = 1) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state IN ('FAILED', 'DEAD LETTER')) THEN 1 ELSE 0 END
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= 4194304 THEN o.`Body` END, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, NULL, NULL, NULL, 0 FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
--   shop.outbox
--   501
-- a probe
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= 4194304 THEN o.`Body` END, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, NULL, NULL, NULL, 0 FROM `shop`.`outbox` o WHERE NOT ('' = ? AND '' = ?) AND NOT ('' = ? AND '' = ?) AND o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   1
-- again
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= 4194304 THEN o.`Body` END, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, NULL, NULL, NULL, 0 FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- when is the next due
SELECT MIN(-(TIMESTAMPDIFF(MICROSECOND, s.next_attempt_at, UTC_TIMESTAMP(6)) DIV 1000)) FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state = 'FAILED' AND 1 = 1
--   shop.outbox
-- due ids
SELECT s.event, s.attempts FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state = 'FAILED' AND s.next_attempt_at <= UTC_TIMESTAMP(6) AND 1 = 1 ORDER BY s.position, s.event LIMIT ?
--   shop.outbox
--   100
-- rows by id
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= 4194304 THEN o.`Body` END, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, NULL, NULL, NULL, 0 FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND o.`Id` IN (UNHEX(?)) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin
--   0b5ab1a0-0000-4000-8000-000000000001
-- mark
UPDATE `shop`.`outbox` SET `Status` = 'Sent', `Sent` = UTC_TIMESTAMP(6) WHERE `shop`.`outbox`.`Id` IN (UNHEX(?)) AND `shop`.`outbox`.`Status` = 'New' AND (SELECT COUNT(*) FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)) >= ?
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   me
--   1
-- forget
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?)
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
-- failed again
UPDATE `shop`.`rowrelay_claims_events` SET state = ?, attempts = ?, next_attempt_at = UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
-- failed for the first time
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ?, 2, UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, ? FROM `shop`.`outbox` o WHERE o.`Id` = UNHEX(?) AND o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)
--   shop.outbox
--   FAILED
--   5000
--   422
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- given up
UPDATE `shop`.`rowrelay_claims_events` SET state = ?, attempts = ?, next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   DEAD LETTER
--   5
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   4
--   5
-- entries
SELECT s.event FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event > ? ORDER BY s.event LIMIT ?
--   shop.outbox
--   
--   1000
-- still pending
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND o.`Id` IN (UNHEX(?))
--   0b5ab1a0-0000-4000-8000-000000000001
-- count pending
SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) LIMIT ?) counted
--   shop.outbox
--   100000
-- count waiting
SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND 1 = 0 LIMIT ?) counted
--   shop.outbox
--   100000
-- count failed
SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state = ? LIMIT ?) counted
--   shop.outbox
--   FAILED
--   100000
-- list
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, NULL, CASE WHEN NOT (o.`Status` = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, DATE_FORMAT(s.next_attempt_at, '%Y-%m-%d %H:%i:%s.%f'), s.last_error, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (1 = 0 OR o.`Status` = 'New' AND s.state IS NULL AND 1 = 1 OR o.`Status` = 'New' AND s.state IS NULL AND 1 = 0 OR o.`Status` = 'New' AND s.state = 'FAILED' OR o.`Status` = 'Sent') AND (1 = 0 OR o.`Id` = UNHEX(?) OR o.`Id` = UNHEX(?)) AND '' = ? AND '' = ? AND NULL = ? AND o.`Added` <= (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) AND o.`Added` > (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) AND o.`Added` >= CAST(? AS DATETIME(6)) AND (o.`Added` > CAST(? AS DATETIME(6)) OR CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin > ?) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
--   shop.outbox
--   0b5ab1a000004000
--   0b5ab1a000004000
--   Order
--   42
--   OrderPlaced
--   3600000
--   3600000000
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list everything
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, NULL, CASE WHEN NOT (o.`Status` = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, DATE_FORMAT(s.next_attempt_at, '%Y-%m-%d %H:%i:%s.%f'), s.last_error, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (o.`Status` = 'New' OR o.`Status` = 'Sent') ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
--   shop.outbox
--   1000
-- list dead letters: ids
SELECT s.event, s.position FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state IN ('DEAD LETTER') AND (s.position > ? OR (s.position = ? AND s.event > ?)) ORDER BY s.position, s.event LIMIT ?
--   shop.outbox
--   1
--   1
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list dead letters
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, NULL, CASE WHEN NOT (o.`Status` = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, DATE_FORMAT(s.next_attempt_at, '%Y-%m-%d %H:%i:%s.%f'), s.last_error, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (1 = 0 OR o.`Status` = 'New' AND s.state = 'DEAD LETTER') AND o.`Id` IN (UNHEX(?)) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- requeue
UPDATE `shop`.`rowrelay_claims_events` SET state = 'FAILED', attempts = 0, next_attempt_at = UTC_TIMESTAMP(6) WHERE outbox = ? AND state IN ('DEAD LETTER', 'FAILED') AND event IN (?)
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
-- discard
UPDATE `shop`.`rowrelay_claims_events` SET state = 'DISCARDED', next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND state IN ('DEAD LETTER', 'FAILED') AND event IN (?)
--   by ann
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
-- discard waiting
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, last_error) SELECT ?, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 'DISCARDED', 0, ? FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND o.`Id` IN (UNHEX(?)) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- clean-up looks
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CASE WHEN o.`Status` = 'Sent' AND o.`Sent` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) THEN 1 ELSE 0 END, CASE WHEN o.`Status` = 'Sent' AND o.`Sent` >= (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) THEN 1 ELSE 0 END FROM `shop`.`outbox` o WHERE 1 = 1 AND o.`Added` >= CAST(? AS DATETIME(6)) AND (o.`Added` > CAST(? AS DATETIME(6)) OR CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin > ?) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
--   3600000
--   3600000
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- clean-up deletes
DELETE FROM `shop`.`outbox` WHERE `shop`.`outbox`.`Id` IN (UNHEX(?)) AND `shop`.`outbox`.`Status` = 'Sent' AND `shop`.`outbox`.`Sent` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND)
--   0b5ab1a0-0000-4000-8000-000000000001
--   3600000
