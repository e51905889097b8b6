-- look
SELECT COALESCE((SELECT 1 FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT 1), (SELECT 1 FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at <= UTC_TIMESTAMP(6) LIMIT 1), 0), COALESCE((SELECT 1 FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND 1 = 1 AND o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state <> 'WAITING' LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM `shop`.`rowrelay_claims` p WHERE p.outbox = ? AND p.unit = 'pause'), (SELECT n.info FROM `shop`.`rowrelay_claims` n WHERE n.outbox = ? AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, COALESCE(o.`retry_count`, 0), NULL, NULL, COALESCE(OCTET_LENGTH(o.`payload`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`payload`), 0) <= ? THEN o.`payload` END, 0 FROM (SELECT o.`id` FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.`id` LIMIT ?) k JOIN `shop`.`outbox` o ON o.`id` = k.`id` ORDER BY o.`id`
--   4194304
--   shop.outbox
--   shop.outbox
--   501
-- others
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, COALESCE(o.`retry_count`, 0), NULL, NULL, COALESCE(OCTET_LENGTH(o.`payload`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`payload`), 0) <= ? THEN o.`payload` END, 0 FROM (SELECT o.`id` FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT (CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ? AND CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ?) AND NOT (CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ? AND CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ?) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.`id` LIMIT ?) k JOIN `shop`.`outbox` o ON o.`id` = k.`id` ORDER BY o.`id`
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, COALESCE(o.`retry_count`, 0), NULL, NULL, COALESCE(OCTET_LENGTH(o.`payload`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`payload`), 0) <= ? THEN o.`payload` END, 0 FROM (SELECT o.`id` FROM `shop`.`outbox` o WHERE o.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) AND o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k JOIN `shop`.`outbox` o ON o.`id` = k.`id` ORDER BY o.`id`
--   4194304
--   7
--   8
--   shop.outbox
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at <= UTC_TIMESTAMP(6) AND (NOT OCTET_LENGTH(o.aggregate_id) > 0 OR (SELECT b.event FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.position, b.event LIMIT 1) = o.event) ORDER BY o.next_attempt_at, o.position, o.event LIMIT ?
--   shop.outbox
--   shop.outbox
--   100
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, COALESCE(o.`retry_count`, 0), NULL, NULL, COALESCE(OCTET_LENGTH(o.`payload`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`payload`), 0) <= ? THEN o.`payload` END, 0 FROM (SELECT o.`id` FROM `shop`.`outbox` o WHERE o.`id` IN (CAST(? AS SIGNED)) AND o.`published` = 0) k JOIN `shop`.`outbox` o ON o.`id` = k.`id` ORDER BY o.`id`
--   4194304
--   7
SELECT COALESCE(-MAX(TIMESTAMPDIFF(MICROSECOND, n.due, UTC_TIMESTAMP(6)) DIV 1000), -1) FROM (SELECT o.next_attempt_at AS due FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at > UTC_TIMESTAMP(6) ORDER BY o.next_attempt_at LIMIT 1) n
--   shop.outbox
-- settle published
UPDATE `shop`.`outbox` SET `published` = 1, `published_at` = UTC_TIMESTAMP(6) WHERE `shop`.`outbox`.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) AND `shop`.`outbox`.`published` = 0 AND (SELECT COUNT(*) FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)) >= ?
--   7
--   8
--   shop.outbox
--   me
--   1
-- settle everything else
BEGIN
SELECT unit FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)
--   shop.outbox
--   me
SELECT c.unit FROM JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r STRAIGHT_JOIN `shop`.`rowrelay_claims` c ON c.outbox = ? AND c.unit = r.unit /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ WHERE 1 = 1 AND c.owner = ? AND c.expires_at > UTC_TIMESTAMP(6) ORDER BY c.unit FOR UPDATE
--   [{"unit":"p0"}]
--   shop.outbox
--   me
UPDATE `shop`.`outbox` SET `published` = 1, `published_at` = UTC_TIMESTAMP(6) WHERE `shop`.`outbox`.`id` IN (CAST(? AS SIGNED)) AND `shop`.`outbox`.`published` = 0
--   7
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?)
--   shop.outbox
--   7
UPDATE `shop`.`rowrelay_claims_events` SET state = ?, attempts = ?, next_attempt_at = UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   7
--   1
--   2
UPDATE `shop`.`outbox` SET `retry_count` = COALESCE(`retry_count`, 0) + 1 WHERE `id` = CAST(? AS SIGNED)
--   7
COMMIT
-- mend
BEGIN
SELECT o.event FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.event > ? ORDER BY o.event LIMIT ?
--   shop.outbox
--   
--   1000
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o WHERE o.`id` IN (CAST(? AS SIGNED)) AND o.`published` = 0
--   7
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?)
--   shop.outbox
--   7
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'DEAD LETTER' LIMIT ?) n), (SELECT CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o WHERE o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.`id` LIMIT 1), UTC_TIMESTAMP(6)
--   shop.outbox
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   shop.outbox
-- failed for the first time
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ?, 2, UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, ? FROM `shop`.`outbox` o WHERE o.`id` IN (CAST(? AS SIGNED)) AND o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)
--   shop.outbox
--   FAILED
--   5000
--   422
--   7
--   shop.outbox
-- given up
UPDATE `shop`.`rowrelay_claims_events` SET state = ?, attempts = ?, next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   DEAD LETTER
--   2
--   422
--   shop.outbox
--   7
--   1
--   2
-- list
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CASE WHEN NOT (o.`published` = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, COALESCE(o.`retry_count`, 0)), CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, s.next_attempt_at, s.last_error, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (1 = 0 OR o.`published` = 0 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR o.`published` = 0 AND s.state IS NULL AND EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR o.`published` = 0 AND s.state = 'FAILED' OR o.`published` = 1) AND (1 = 0 OR o.`id` = CAST(? AS SIGNED) OR o.`idempotency_key` = ? OR o.`idempotency_key` = ? OR o.`idempotency_key` = ?) AND CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ? AND CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = ? AND o.`event_type` = ? AND o.`created_at` <= (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) AND o.`created_at` > (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) AND o.`id` > CAST(? AS SIGNED) ORDER BY o.`id` LIMIT ?
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
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CASE WHEN NOT (o.`published` = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, COALESCE(o.`retry_count`, 0)), CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, s.next_attempt_at, s.last_error, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (o.`published` = 0 OR o.`published` = 1) ORDER BY o.`id` LIMIT ?
--   shop.outbox
--   shop.outbox
--   1000
-- list dead letters: keys
SELECT o.event, o.position FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state IN ('DEAD LETTER') AND (o.position > ? OR (o.position = ? AND o.event > ?)) ORDER BY o.position, o.event LIMIT ?
--   shop.outbox
--   7
--   7
--   7
--   1000
-- list dead letters
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, o.`event_type`, o.`idempotency_key`, CASE WHEN NOT (o.`published` = 0) THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.aggregate_id = CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, COALESCE(o.`retry_count`, 0)), CAST(DATE_FORMAT(o.`created_at`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, s.next_attempt_at, s.last_error, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (1 = 0 OR o.`published` = 0 AND s.state = 'DEAD LETTER') AND o.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) ORDER BY o.`id` LIMIT ?
--   shop.outbox
--   shop.outbox
--   7
--   8
--   1000
-- requeue
UPDATE `shop`.`rowrelay_claims_events` SET state = 'FAILED', attempts = 0, next_attempt_at = UTC_TIMESTAMP(6) WHERE outbox = ? AND event IN (?, ?) AND state IN ('DEAD LETTER', 'FAILED')
--   shop.outbox
--   7
--   8
-- discard
UPDATE `shop`.`rowrelay_claims_events` SET state = 'DISCARDED', next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND event IN (?, ?) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   shop.outbox
--   7
--   8
-- discard waiting
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_type` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`aggregate_id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(CONCAT(o.`id` >= 0, LPAD(o.`id` & 9223372036854775807, 19, '0')) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 'DISCARDED', 0, NULL, ? FROM `shop`.`outbox` o WHERE o.`id` IN (CAST(? AS SIGNED), CAST(? AS SIGNED)) AND o.`published` = 0 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)
--   shop.outbox
--   by ann
--   7
--   8
--   shop.outbox
-- clean-up looks
SELECT CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(o.`id` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CASE WHEN o.`published` = 1 AND o.`published_at` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) THEN 2 WHEN o.`published` = 1 AND o.`published_at` >= (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) THEN 0 ELSE 1 END FROM `shop`.`outbox` o WHERE o.`id` > CAST(? AS SIGNED) ORDER BY o.`id` LIMIT ?
--   2592000000
--   2592000000
--   7
--   1000
-- clean-up deletes
DELETE FROM `shop`.`outbox` WHERE `shop`.`outbox`.`id` <= CAST(? AS SIGNED) AND `shop`.`outbox`.`published` = 1 AND `shop`.`outbox`.`published_at` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND)
--   7
--   2592000000
-- clean-up deletes after a page
DELETE FROM `shop`.`outbox` WHERE `shop`.`outbox`.`id` > CAST(? AS SIGNED) AND `shop`.`outbox`.`id` <= CAST(? AS SIGNED) AND `shop`.`outbox`.`published` = 1 AND `shop`.`outbox`.`published_at` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND)
--   7
--   7
--   2592000000
