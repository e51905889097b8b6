-- look
SELECT COALESCE((SELECT 1 FROM `shop`.`outbox` o FORCE INDEX (`pending`) WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT 1), (SELECT 1 FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state IN ('FAILED') AND o.next_attempt_at <= UTC_TIMESTAMP(6) LIMIT 1), 0), COALESCE((SELECT 1 FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND 1 = 1 LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM `shop`.`rowrelay_claims` p WHERE p.outbox = ? AND p.unit = 'pause'), (SELECT n.info FROM `shop`.`rowrelay_claims` n WHERE n.outbox = ? AND n.unit = '*')
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
--   shop.outbox
-- fetch
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, '', COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ''), NULL, NULL, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, NULL, NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= ? THEN o.`Body` END, CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CASE WHEN CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin IS NOT NULL OR CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin IS NOT NULL THEN UTC_TIMESTAMP(6) END, 0 FROM (SELECT o.`Id` FROM `shop`.`outbox` o FORCE INDEX (`pending`) WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.`Added`, o.`Id` LIMIT ?) k STRAIGHT_JOIN `shop`.`outbox` o ON o.`Id` = k.`Id` ORDER BY o.`Added`, o.`Id`
--   4194304
--   shop.outbox
--   shop.outbox
--   501
-- others
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, '', COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ''), NULL, NULL, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, NULL, NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= ? THEN o.`Body` END, CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CASE WHEN CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin IS NOT NULL OR CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin IS NOT NULL THEN UTC_TIMESTAMP(6) END, 0 FROM (SELECT o.`Id` FROM `shop`.`outbox` o FORCE INDEX (`pending`) WHERE 1 = 1 AND NOT ('' = ? AND COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '') = ?) AND NOT ('' = ? AND COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '') = ?) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.`Added`, o.`Id` LIMIT ?) k STRAIGHT_JOIN `shop`.`outbox` o ON o.`Id` = k.`Id` ORDER BY o.`Added`, o.`Id`
--   4194304
--   Order
--   42
--   Order
--   43
--   shop.outbox
--   shop.outbox
--   1
-- again
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, '', COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ''), NULL, NULL, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, NULL, NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= ? THEN o.`Body` END, CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CASE WHEN CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin IS NOT NULL OR CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin IS NOT NULL THEN UTC_TIMESTAMP(6) END, 0 FROM (SELECT o.`Id` FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k STRAIGHT_JOIN `shop`.`outbox` o ON o.`Id` = k.`Id` ORDER BY o.`Added`, o.`Id`
--   4194304
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   shop.outbox
-- due
SELECT o.event, o.attempts FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at <= UTC_TIMESTAMP(6) AND (NOT OCTET_LENGTH(o.aggregate_id) > 0 OR (SELECT b.event FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = o.aggregate_type AND b.aggregate_id = o.aggregate_id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.position, b.event LIMIT 1) = o.event) ORDER BY o.next_attempt_at, o.position, o.event LIMIT ?
--   shop.outbox
--   shop.outbox
--   100
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, '', COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ''), NULL, NULL, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 0, NULL, NULL, COALESCE(OCTET_LENGTH(o.`Body`), 0), CASE WHEN COALESCE(OCTET_LENGTH(o.`Body`), 0) <= ? THEN o.`Body` END, CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CASE WHEN CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin IS NOT NULL OR CAST(DATE_FORMAT(o.`Sent`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin IS NOT NULL THEN UTC_TIMESTAMP(6) END, 0 FROM (SELECT o.`Id` FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND 1 = 1 AND EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1)) k STRAIGHT_JOIN `shop`.`outbox` o ON o.`Id` = k.`Id` ORDER BY o.`Added`, o.`Id`
--   4194304
--   7
--   shop.outbox
SELECT COALESCE(-MAX(TIMESTAMPDIFF(MICROSECOND, n.due, UTC_TIMESTAMP(6)) DIV 1000), -1) FROM (SELECT o.next_attempt_at AS due FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state = 'FAILED' AND o.next_attempt_at > UTC_TIMESTAMP(6) ORDER BY o.next_attempt_at LIMIT 1) n
--   shop.outbox
-- settle published
DELETE FROM `shop`.`outbox` WHERE `shop`.`outbox`.`Id` IN (UNHEX(?)) AND 1 = 1 AND (SELECT COUNT(*) FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)) >= ?
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
--   me
--   1
-- settle everything else
BEGIN
SELECT unit FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)
--   shop.outbox
--   me
SELECT c.unit FROM JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r STRAIGHT_JOIN `shop`.`rowrelay_claims` c ON c.outbox = ? AND c.unit = r.unit /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ WHERE 1 = 1 AND c.owner = ? AND c.expires_at > UTC_TIMESTAMP(6) ORDER BY c.unit FOR UPDATE /*!80001 OF c */
--   [{"unit":"p0"}]
--   shop.outbox
--   me
DELETE FROM `shop`.`outbox` WHERE `shop`.`outbox`.`Id` IN (UNHEX(?)) AND 1 = 1
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?)
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?) AND NOT EXISTS (SELECT 1 FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND 1 = 1 AND CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = `shop`.`rowrelay_claims_events`.event AND CASE WHEN `shop`.`rowrelay_claims_events`.aggregate_type = '' AND `shop`.`rowrelay_claims_events`.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND `shop`.`rowrelay_claims_events`.position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
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
-- settle what has a time
BEGIN
SELECT unit FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)
--   shop.outbox
--   me
SELECT c.unit FROM JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r STRAIGHT_JOIN `shop`.`rowrelay_claims` c ON c.outbox = ? AND c.unit = r.unit /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ WHERE 1 = 1 AND c.owner = ? AND c.expires_at > UTC_TIMESTAMP(6) ORDER BY c.unit FOR UPDATE /*!80001 OF c */
--   [{"unit":"p0"}]
--   shop.outbox
--   me
DELETE FROM `shop`.`outbox` WHERE `shop`.`outbox`.`Id` IN (UNHEX(?)) AND 1 = 1
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?,?)
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   0b5ab1a0-0000-4000-8000-000000000001
DELETE FROM `shop`.`rowrelay_claims_events` WHERE outbox = ? AND event IN (?) AND NOT EXISTS (SELECT 1 FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND 1 = 1 AND CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin = `shop`.`rowrelay_claims_events`.event AND CASE WHEN `shop`.`rowrelay_claims_events`.aggregate_type = '' AND `shop`.`rowrelay_claims_events`.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND `shop`.`rowrelay_claims_events`.position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   0b5ab1a0-0000-4000-8000-000000000001
UPDATE `shop`.`rowrelay_claims_events` SET state = ?, attempts = ?, next_attempt_at = UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, last_error = ? WHERE outbox = ? AND event = ? AND state = 'FAILED' AND attempts IN (?, ?)
--   FAILED
--   0
--   3600000
--   later
--   shop.outbox
--   0b5ab1a0-0000-4000-8000-000000000001
--   -1
--   0
COMMIT
-- mend
BEGIN
SELECT o.event, o.aggregate_type, o.aggregate_id, o.position FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.event > ? ORDER BY o.event LIMIT ?
--   shop.outbox
--   
--   1000
COMMIT
-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o FORCE INDEX (`pending`) WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state IN ('FAILED') AND o.attempts = 0 AND o.next_attempt_at > UTC_TIMESTAMP(6) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state IN ('FAILED') AND NOT (o.attempts = 0 AND o.next_attempt_at > UTC_TIMESTAMP(6)) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o FORCE INDEX (`pending`) WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`rowrelay_claims_events` o WHERE o.outbox = ? AND o.state IN ('DEAD LETTER') LIMIT ?) n), (SELECT CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o FORCE INDEX (`pending`) WHERE 1 = 1 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1) AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.`Added`, o.`Id` LIMIT 1), UTC_TIMESTAMP(6)
--   shop.outbox
--   shop.outbox
--   100001
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
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), ''), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ?, 2, UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND, ? FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1)
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
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > UTC_TIMESTAMP(6) THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, s.next_attempt_at, s.last_error, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1 WHERE (1 = 0 OR 1 = 1 AND s.state IS NULL AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR 1 = 1 AND s.state IS NULL AND EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) OR 1 = 1 AND s.state IN ('FAILED') AND NOT (s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > UTC_TIMESTAMP(6)) OR 1 = 0) AND (1 = 0 OR o.`Id` = UNHEX(?) OR o.`Id` = UNHEX(?)) AND '' = ? AND COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '') = ? AND NULL = ? AND o.`Added` <= (UTC_TIMESTAMP(6) - INTERVAL (?) * 1000 MICROSECOND) AND o.`Added` > (UTC_TIMESTAMP(6) - INTERVAL (?) * 1000 MICROSECOND) AND o.`Added` >= CAST(? AS DATETIME(6)) AND (o.`Added` > CAST(? AS DATETIME(6)) OR o.`Id` > UNHEX(?)) ORDER BY o.`Added`, o.`Id` LIMIT ?
--   shop.outbox
--   shop.outbox
--   shop.outbox
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
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > UTC_TIMESTAMP(6) THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, s.next_attempt_at, s.last_error, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1 WHERE (1 = 1 OR 1 = 0) ORDER BY o.`Added`, o.`Id` LIMIT ?
--   shop.outbox
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
SELECT CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', COALESCE(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, ''), NULL, NULL, CASE WHEN NOT (1 = 1) THEN 'PUBLISHED' WHEN s.state = 'FAILED' AND s.attempts = 0 AND s.next_attempt_at > UTC_TIMESTAMP(6) THEN 'DELAYED' WHEN s.state IS NOT NULL THEN s.state WHEN EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` b WHERE b.outbox = ? AND b.aggregate_type = '' AND b.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND OCTET_LENGTH(b.aggregate_id) > 0 AND (b.position < CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin OR b.position = CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND b.event < CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 'WAITING' ELSE 'PENDING' END, COALESCE(s.attempts, 0), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, s.next_attempt_at, s.last_error, CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin FROM `shop`.`outbox` o FORCE INDEX (`pending`) LEFT JOIN `shop`.`rowrelay_claims_events` s ON s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1 WHERE 1 = 1 AND (1 = 0 OR 1 = 1 AND s.state IN ('DEAD LETTER')) AND o.`Id` IN (UNHEX(?)) ORDER BY o.`Added`, o.`Id` LIMIT ?
--   shop.outbox
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
-- marks no row
DELETE FROM `shop`.`outbox` WHERE 1 = 0 AND 1 = 1
-- discard waiting
INSERT INTO `shop`.`rowrelay_claims_events` (outbox, event, aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error) SELECT ?, CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, '', COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), ''), CAST(DATE_FORMAT(o.`Added`, '%Y-%m-%d %H:%i:%s.%f') AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 'DISCARDED', 0, NULL, ? FROM `shop`.`outbox` o WHERE o.`Id` IN (UNHEX(?)) AND 1 = 1 AND NOT EXISTS (SELECT 1 FROM `shop`.`rowrelay_claims_events` s WHERE s.outbox = ? AND s.event = CAST(HEX(o.`Id`) AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin AND CASE WHEN s.aggregate_type = '' AND s.aggregate_id = COALESCE(IF(CHAR_LENGTH(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin) <= 255, CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, CONCAT(LEFT(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 191), SHA2(CAST(o.`Key` AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin, 256))), '') AND s.position <> '' THEN 1 ELSE 0 END = 1)
--   shop.outbox
--   by ann
--   0b5ab1a0-0000-4000-8000-000000000001
--   shop.outbox
