-- look
SELECT (SELECT COALESCE(c.info, '') FROM `shop`.`rowrelay_claims` c WHERE c.outbox = ? AND c.unit = 'pause'), CASE WHEN EXISTS (SELECT 1 FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)) THEN 1 WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state = 'FAILED' AND s.next_attempt_at <= UTC_TIMESTAMP(6) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` e WHERE e.outbox = ? AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state IN ('FAILED', 'DEAD LETTER')) THEN 1 ELSE 0 END
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, COALESCE(OCTET_LENGTH(o.`payload`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`payload`), 0) <= 4194304 THEN o.`payload` END, CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`idempotency_key`, NULL, NULL, o.`retry_count` FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) ORDER BY o.`id` LIMIT ?
--   shop.outbox
--   shop.outbox
--   501
-- a probe
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, COALESCE(OCTET_LENGTH(o.`payload`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`payload`), 0) <= 4194304 THEN o.`payload` END, CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`idempotency_key`, NULL, NULL, o.`retry_count` FROM `shop`.`outbox` o WHERE NOT (CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ? AND CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ?) AND NOT (CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ? AND CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ?) AND o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) ORDER BY o.`id` LIMIT ?
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, COALESCE(OCTET_LENGTH(o.`payload`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`payload`), 0) <= 4194304 THEN o.`payload` END, CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`idempotency_key`, NULL, NULL, o.`retry_count` FROM `shop`.`outbox` o WHERE o.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) AND o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) ORDER BY o.`id`
--   7
--   8
--   shop.outbox
--   shop.outbox
-- when is the next due
SELECT MIN(-(TIMESTAMPDIFF(MICROSECOND, s.next_attempt_at, UTC_TIMESTAMP(6)) DIV 1000)) FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state = 'FAILED' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` e WHERE e.outbox = ? AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event)))
--   shop.outbox
--   shop.outbox
-- due ids
SELECT s.event, s.attempts FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state = 'FAILED' AND s.next_attempt_at <= UTC_TIMESTAMP(6) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` e WHERE e.outbox = ? AND e.aggregate_type = s.aggregate_type AND e.aggregate_id = s.aggregate_id AND e.aggregate_id <> '' AND e.state IN ('FAILED', 'DEAD LETTER') AND (e.position < s.position OR (e.position = s.position AND e.event < s.event))) ORDER BY s.position, s.event LIMIT ?
--   shop.outbox
--   shop.outbox
--   100
-- rows by id
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, COALESCE(OCTET_LENGTH(o.`payload`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`payload`), 0) <= 4194304 THEN o.`payload` END, CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`idempotency_key`, NULL, NULL, o.`retry_count` FROM `shop`.`outbox` o WHERE o.`published` = 0 AND o.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) ORDER BY o.`id`
--   7
--   8
-- mark
UPDATE `shop`.`outbox` SET `published` = 1, `published_at` = UTC_TIMESTAMP(6) WHERE `shop`.`outbox`.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) AND `shop`.`outbox`.`published` = 0 AND (SELECT COUNT(*) FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)) >= ?
--   7
--   8
--   shop.outbox
--   me
--   1
-- forget
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?, ?)
--   shop.outbox
--   7
--   8
-- failed again
UPDATE `shop`.`rowrelay_claims_events` SET state = ?, attempts = ?, next_attempt_at = UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   7
--   1
--   2
-- failed for the first time
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ?, 2, UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, ? FROM `shop`.`outbox` o WHERE o.`id` = CAST(? AS SIGNED) AND o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)
--   shop.outbox
--   FAILED
--   5000
--   422
--   7
--   shop.outbox
-- given up
UPDATE `shop`.`rowrelay_claims_events` SET state = ?, attempts = ?, next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   DEAD LETTER
--   5
--   422
--   shop.outbox
--   7
--   4
--   5
-- count the attempt
UPDATE `shop`.`outbox` SET `retry_count` = COALESCE(`retry_count`, 0) + 1 WHERE `id` = CAST(? AS SIGNED)
--   7
-- entries
SELECT s.event FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event > ? ORDER BY s.event LIMIT ?
--   shop.outbox
--   
--   1000
-- still pending
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o WHERE o.`published` = 0 AND o.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED))
--   7
--   8
-- count pending
SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) LIMIT ?) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count waiting
SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) LIMIT ?) counted
--   shop.outbox
--   shop.outbox
--   100000
-- count failed
SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state = ? LIMIT ?) counted
--   shop.outbox
--   FAILED
--   100000
-- list
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CASE WHEN NOT (o.`published` = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, o.`retry_count`), CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, DATE_FORMAT(s.next_attempt_at, '%Y-%m-%d %H:%i:%s.%f'), s.last_error, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (1 = 0 OR o.`published` = 0 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) OR o.`published` = 0 AND s.state IS NULL AND EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) OR o.`published` = 0 AND s.state = 'FAILED' OR o.`published` = 1) AND (1 = 0 OR o.`id` = CAST(? AS SIGNED) OR o.`idempotency_key` = ? OR o.`idempotency_key` = ? OR o.`idempotency_key` = ?) AND CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ? AND CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ? AND o.`event_type` = ? AND o.`created_at` <= (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) AND o.`created_at` > (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) AND o.`id` > CAST(? AS SIGNED) ORDER BY o.`id` LIMIT ?
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   7
--   7
--   0b5ab1a0-0000-4000-8000-000000000001
--   0b5ab1a000004000
--   Order
--   42
--   OrderPlaced
--   3600000
--   3600000000
--   7
--   1000
-- list everything
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CASE WHEN NOT (o.`published` = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, o.`retry_count`), CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, DATE_FORMAT(s.next_attempt_at, '%Y-%m-%d %H:%i:%s.%f'), s.last_error, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (o.`published` = 0 OR o.`published` = 1) ORDER BY o.`id` LIMIT ?
--   shop.outbox
--   shop.outbox
--   1000
-- list dead letters: ids
SELECT s.event, s.position FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.state IN ('DEAD LETTER') AND (s.position > ? OR (s.position = ? AND s.event > ?)) ORDER BY s.position, s.event LIMIT ?
--   shop.outbox
--   1
--   1
--   7
--   1000
-- list dead letters
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CASE WHEN NOT (o.`published` = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND s.aggregate_id <> '' AND s.state IN ('FAILED', 'DEAD LETTER') AND s.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, o.`retry_count`), CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, DATE_FORMAT(s.next_attempt_at, '%Y-%m-%d %H:%i:%s.%f'), s.last_error, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (1 = 0 OR o.`published` = 0 AND s.state = 'DEAD LETTER') AND o.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) ORDER BY o.`id` LIMIT ?
--   shop.outbox
--   shop.outbox
--   7
--   8
--   1000
-- requeue
UPDATE `shop`.`rowrelay_claims_events` SET state = 'FAILED', attempts = 0, next_attempt_at = UTC_TIMESTAMP(6) WHERE outbox = ? AND state IN ('DEAD LETTER', 'FAILED') AND event IN (?, ?)
--   shop.outbox
--   7
--   8
-- discard
UPDATE `shop`.`rowrelay_claims_events` SET state = 'DISCARDED', next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND state IN ('DEAD LETTER', 'FAILED') AND event IN (?, ?)
--   by ann
--   shop.outbox
--   7
--   8
-- discard waiting
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, last_error) SELECT ?, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 'DISCARDED', 0, ? FROM `shop`.`outbox` o WHERE o.`published` = 0 AND o.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)
--   shop.outbox
--   by ann
--   7
--   8
--   shop.outbox
-- clean-up looks
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CASE WHEN o.`published` = 1 AND o.`published_at` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) THEN 1 ELSE 0 END, CASE WHEN o.`published` = 1 AND o.`published_at` >= (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) THEN 1 ELSE 0 END FROM `shop`.`outbox` o WHERE 1 = 1 AND o.`id` > CAST(? AS SIGNED) ORDER BY o.`id` LIMIT ?
--   3600000
--   3600000
--   7
--   1000
-- clean-up deletes
DELETE FROM `shop`.`outbox` WHERE `shop`.`outbox`.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) AND `shop`.`outbox`.`published` = 1 AND `shop`.`outbox`.`published_at` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND)
--   7
--   8
--   3600000
