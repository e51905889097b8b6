-- look
SELECT COALESCE((SELECT 1 FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) LIMIT 1), (SELECT 1 FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at <= UTC_TIMESTAMP(6) LIMIT 1), 0), COALESCE((SELECT 1 FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND 1 = 1 AND o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state <> 'WAITING' LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM `shop`.`rowrelay_claims` p WHERE p.outbox = ? AND p.unit = 'pause'), (SELECT n.info FROM `shop`.`rowrelay_claims` n WHERE n.outbox = ? AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, '', '', NULL, NULL, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, NULL, NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= ? THEN o.`Body` END, 0 FROM (SELECT o.`Id` FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?) k JOIN `shop`.`outbox` o ON o.`Id` = k.`Id` ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin
--   4194304
--   shop.outbox
--   501
-- others
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, '', '', NULL, NULL, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, NULL, NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= ? THEN o.`Body` END, 0 FROM (SELECT o.`Id` FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT ('' = ? AND '' = ?) AND NOT ('' = ? AND '' = ?) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?) k JOIN `shop`.`outbox` o ON o.`Id` = k.`Id` ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   1
-- again
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, '', '', NULL, NULL, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, NULL, NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= ? THEN o.`Body` END, 0 FROM (SELECT o.`Id` FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)) k JOIN `shop`.`outbox` o ON o.`Id` = k.`Id` ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin
--   4194304
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at <= UTC_TIMESTAMP(6) ORDER BY o.next_attempt_at, o.position, o.event LIMIT ?
--   shop.outbox
--   100
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, '', '', NULL, NULL, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, NULL, NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= ? THEN o.`Body` END, 0 FROM (SELECT o.`Id` FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND o.`Status` = 'New') k JOIN `shop`.`outbox` o ON o.`Id` = k.`Id` ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin
--   4194304
--   7
SELECT COALESCE(-MAX(TIMESTAMPDIFF(MICROSECOND, n.due, UTC_TIMESTAMP(6)) DIV 1000), -1) FROM (SELECT o.next_attempt_at AS due FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at > UTC_TIMESTAMP(6) ORDER BY o.next_attempt_at LIMIT 1) n
--   shop.outbox
-- settle published
UPDATE `shop`.`outbox` SET `Status` = 'Sent', `Sent` = UTC_TIMESTAMP(6) WHERE `shop`.`outbox`.`Id` IN (UNHEX(?)) AND `shop`.`outbox`.`Status` = 'New' AND (SELECT COUNT(*) FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)) >= ?
--   0b5ab1a0-0000-4000-8000-000000000001
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
UPDATE `shop`.`outbox` SET `Status` = 'Sent', `Sent` = UTC_TIMESTAMP(6) WHERE `shop`.`outbox`.`Id` IN (UNHEX(?)) AND `shop`.`outbox`.`Status` = 'New'
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?)
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
UPDATE `shop`.`rowrelay_claims_events` SET state = ?, attempts = ?, next_attempt_at = UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   FAILED
--   2
--   5000
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
COMMIT
-- mend
BEGIN
SELECT o.event FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.event > ? ORDER BY o.event LIMIT ?
--   shop.outbox
--   
--   1000
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND o.`Status` = 'New'
--   7
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?)
--   shop.outbox
--   7
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND 1 = 0 LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'DEAD LETTER' LIMIT ?) n), (SELECT CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o WHERE o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT 1), UTC_TIMESTAMP(6)
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
--   100001
--   shop.outbox
-- failed for the first time
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ?, 2, UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, ? FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)
--   shop.outbox
--   FAILED
--   5000
--   422
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- given up
UPDATE `shop`.`rowrelay_claims_events` SET state = ?, attempts = ?, next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   DEAD LETTER
--   2
--   422
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1
--   2
-- list
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, NULL, CASE WHEN NOT (o.`Status` = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN 1 = 0 THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, s.next_attempt_at, s.last_error, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (1 = 0 OR o.`Status` = 'New' AND s.state IS NULL AND NOT 1 = 0 OR o.`Status` = 'New' AND s.state IS NULL AND 1 = 0 OR o.`Status` = 'New' AND s.state = 'FAILED' OR o.`Status` = 'Sent') AND (1 = 0 OR o.`Id` = UNHEX(?) OR o.`Id` = UNHEX(?)) AND '' = ? AND '' = ? AND NULL = ? AND o.`Added` <= (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) AND o.`Added` > (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) AND o.`Added` >= CAST(? AS DATETIME(6)) AND (o.`Added` > CAST(? AS DATETIME(6)) OR CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin > ?) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
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
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, NULL, CASE WHEN NOT (o.`Status` = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN 1 = 0 THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, s.next_attempt_at, s.last_error, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (o.`Status` = 'New' OR o.`Status` = 'Sent') ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
--   shop.outbox
--   1000
-- list dead letters: keys
SELECT o.event, o.position FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state IN ('DEAD LETTER') AND (o.position > ? OR (o.position = ? AND o.event > ?)) ORDER BY o.position, o.event LIMIT ?
--   shop.outbox
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- list dead letters
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', NULL, NULL, CASE WHEN NOT (o.`Status` = 'New') THEN 'PUBLISHED' WHEN s.state IS NOT NULL THEN s.state WHEN 1 = 0 THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, s.next_attempt_at, s.last_error, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin WHERE (1 = 0 OR o.`Status` = 'New' AND s.state = 'DEAD LETTER') AND o.`Id` IN (UNHEX(?)) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- requeue
UPDATE `shop`.`rowrelay_claims_events` SET state = 'FAILED', attempts = 0, next_attempt_at = UTC_TIMESTAMP(6) WHERE outbox = ? AND event IN (?) AND state IN ('DEAD LETTER', 'FAILED')
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
-- discard
UPDATE `shop`.`rowrelay_claims_events` SET state = 'DISCARDED', next_attempt_at = NULL, last_error = ? WHERE outbox = ? AND event IN (?) AND state IN ('DEAD LETTER', 'FAILED', 'WAITING')
--   by ann
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
-- discard waiting
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', '', CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 'DISCARDED', 0, NULL, ? FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND o.`Status` = 'New' AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin)
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
-- clean-up looks
SELECT CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CASE WHEN o.`Status` = 'Sent' AND o.`Sent` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) THEN 2 WHEN o.`Status` = 'Sent' AND o.`Sent` >= (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND) THEN 0 ELSE 1 END FROM `shop`.`outbox` o WHERE o.`Added` >= CAST(? AS DATETIME(6)) AND (o.`Added` > CAST(? AS DATETIME(6)) OR CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin > ?) ORDER BY o.`Added`, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin LIMIT ?
--   2592000000
--   2592000000
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   1000
-- clean-up deletes
DELETE FROM `shop`.`outbox` WHERE `shop`.`outbox`.`Added` <= CAST(? AS DATETIME(6)) AND (`shop`.`outbox`.`Added` < CAST(? AS DATETIME(6)) OR CAST(HEX(`shop`.`outbox`.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin <= ?) AND `shop`.`outbox`.`Status` = 'Sent' AND `shop`.`outbox`.`Sent` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND)
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   2592000000
-- clean-up deletes after a page
DELETE FROM `shop`.`outbox` WHERE `shop`.`outbox`.`Added` >= CAST(? AS DATETIME(6)) AND (`shop`.`outbox`.`Added` > CAST(? AS DATETIME(6)) OR CAST(HEX(`shop`.`outbox`.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin > ?) AND `shop`.`outbox`.`Added` <= CAST(? AS DATETIME(6)) AND (`shop`.`outbox`.`Added` < CAST(? AS DATETIME(6)) OR CAST(HEX(`shop`.`outbox`.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin <= ?) AND `shop`.`outbox`.`Status` = 'Sent' AND `shop`.`outbox`.`Sent` < (UTC_TIMESTAMP(6) - INTERVAL ? * 1000 MICROSECOND)
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   2026-01-31 23:59:59.123456
--   2026-01-31 23:59:59.123456
--   0b5ab1a0-0000-4000-8000-000000000001
--   2592000000
