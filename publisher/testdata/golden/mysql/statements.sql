-- look
SELECT COALESCE((SELECT 1 FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' ORDER BY o.bucket, o.id LIMIT 1), (SELECT 1 FROM `shop`.`outbox` o WHERE o.state = 'FAILED' AND o.next_attempt_at <= UTC_TIMESTAMP(6) ORDER BY o.next_attempt_at LIMIT 1), 0), COALESCE((SELECT 1 FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' ORDER BY o.bucket, o.id LIMIT 1), 0), (SELECT COALESCE(p.info, '') FROM `shop`.`rowrelay_claims` p WHERE p.outbox = ? AND p.unit = 'pause'), (SELECT n.info FROM `shop`.`rowrelay_claims` n WHERE n.outbox = ? AND n.unit = '*')
--   shop.outbox
--   shop.outbox

-- survey
SELECT unit, owner, info, CASE WHEN expires_at > UTC_TIMESTAMP(6) THEN 1 ELSE 0 END FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox

-- renew
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r STRAIGHT_JOIN `shop`.`rowrelay_claims` c ON c.outbox = ? AND c.unit = r.unit /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ SET expires_at = UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND WHERE 1 = 1 AND c.owner = ? AND c.expires_at > UTC_TIMESTAMP(6)
--   [{"unit":"i:me"},{"unit":"p0"},{"unit":"p1"}]
--   shop.outbox
--   60000
--   me

-- take
BEGIN
INSERT INTO `shop`.`rowrelay_claims` (outbox, unit, owner, token, expires_at) VALUES (?, '*', '', 1, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE token = token + 1
--   shop.outbox
SELECT token FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND unit = '*'
--   shop.outbox
SELECT unit, owner, info, CASE WHEN expires_at > UTC_TIMESTAMP(6) THEN 1 ELSE 0 END FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox
DELETE c FROM JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r STRAIGHT_JOIN `shop`.`rowrelay_claims` c ON c.outbox = ? AND c.unit = r.unit /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ WHERE 1 = 1 AND c.expires_at <= UTC_TIMESTAMP(6)
--   [{"unit":"i:old"}]
--   shop.outbox
SELECT unit, owner, info, CASE WHEN expires_at > UTC_TIMESTAMP(6) THEN 1 ELSE 0 END FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND unit NOT IN ('pause', 'cleanup')
--   shop.outbox
UPDATE `shop`.`rowrelay_claims` SET info = ? WHERE outbox = ? AND unit = '*'
--   {"partitions":32}
--   shop.outbox
INSERT INTO `shop`.`rowrelay_claims` (outbox, unit, owner, token, expires_at) SELECT n.* FROM (SELECT ? AS outbox, r.unit, ? AS owner, ? AS token, UTC_TIMESTAMP(6) + INTERVAL (?) * 1000 MICROSECOND AS expires_at FROM JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r ORDER BY r.unit) n ON DUPLICATE KEY UPDATE owner = IF(`shop`.`rowrelay_claims`.expires_at <= UTC_TIMESTAMP(6) OR `shop`.`rowrelay_claims`.owner = VALUES(owner), VALUES(owner), `shop`.`rowrelay_claims`.owner), token = IF(`shop`.`rowrelay_claims`.expires_at <= UTC_TIMESTAMP(6) OR `shop`.`rowrelay_claims`.owner = VALUES(owner), VALUES(token), `shop`.`rowrelay_claims`.token), expires_at = IF(`shop`.`rowrelay_claims`.expires_at <= UTC_TIMESTAMP(6) OR `shop`.`rowrelay_claims`.owner = VALUES(owner), VALUES(expires_at), `shop`.`rowrelay_claims`.expires_at)
--   shop.outbox
--   me
--   1
--   60000
--   [{"unit":"i:me"},{"unit":"p0"},{"unit":"p1"}]
SELECT unit FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND token = ? AND unit IN (?,?,?)
--   shop.outbox
--   me
--   1
--   p1
--   p0
--   i:me
COMMIT

-- release two partitions
DELETE c FROM JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r STRAIGHT_JOIN `shop`.`rowrelay_claims` c ON c.outbox = ? AND c.unit = r.unit /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ WHERE 1 = 1 AND c.owner = ?
--   [{"unit":"p0"},{"unit":"p1"}]
--   shop.outbox
--   me

-- release everything
SELECT unit FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ?
--   shop.outbox
--   me
DELETE c FROM JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r STRAIGHT_JOIN `shop`.`rowrelay_claims` c ON c.outbox = ? AND c.unit = r.unit /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ WHERE 1 = 1 AND c.owner = ?
--   [{"unit":"p0"}]
--   shop.outbox
--   me

-- pause
BEGIN
INSERT INTO `shop`.`rowrelay_claims` (outbox, unit, owner, token, expires_at) VALUES (?, '*', '', 1, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE token = token + 1
--   shop.outbox
SELECT token FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND unit = '*'
--   shop.outbox
DELETE FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND unit = 'pause'
--   shop.outbox
INSERT INTO `shop`.`rowrelay_claims` (outbox, unit, owner, token, expires_at, info) VALUES (?, 'pause', '', 0, UTC_TIMESTAMP(6), ?)
--   shop.outbox
--   ann
COMMIT

-- resume
DELETE FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND unit = 'pause'
--   shop.outbox

-- fetch the whole table
SELECT o.id, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, OCTET_LENGTH(o.payload), CASE WHEN OCTET_LENGTH(o.payload) <= ? THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN UTC_TIMESTAMP(6) END, CASE WHEN EXISTS (SELECT 1 FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = o.aggregate_type /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND OCTET_LENGTH(o.aggregate_id) > 0 AND b.id < o.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? ORDER BY o.bucket, o.id LIMIT ?) k STRAIGHT_JOIN `shop`.`outbox` o ON o.id = k.id ORDER BY k.bucket, k.id
--   1048576
--   0
--   1024
--   501

-- fetch two ranges
SELECT o.id, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, OCTET_LENGTH(o.payload), CASE WHEN OCTET_LENGTH(o.payload) <= ? THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN UTC_TIMESTAMP(6) END, CASE WHEN EXISTS (SELECT 1 FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = o.aggregate_type /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND OCTET_LENGTH(o.aggregate_id) > 0 AND b.id < o.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT bucket, id FROM (SELECT bucket, id FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? ORDER BY o.bucket, o.id LIMIT ?) r0 UNION ALL SELECT bucket, id FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? ORDER BY o.bucket, o.id LIMIT ?) r1) u ORDER BY bucket, id LIMIT ?) k STRAIGHT_JOIN `shop`.`outbox` o ON o.id = k.id ORDER BY k.bucket, k.id
--   1048576
--   0
--   16
--   501
--   64
--   80
--   501
--   501

-- fetch two ranges by seq
SELECT o.id, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, OCTET_LENGTH(o.payload), CASE WHEN OCTET_LENGTH(o.payload) <= ? THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN UTC_TIMESTAMP(6) END, CASE WHEN EXISTS (SELECT 1 FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = o.aggregate_type /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND OCTET_LENGTH(o.aggregate_id) > 0 AND b.id < o.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT bucket, id FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_order) WHERE o.state = 'PENDING' AND o.id > ? ORDER BY o.id LIMIT ?) f WHERE (1 = 0 OR f.bucket >= ? AND f.bucket < ? OR f.bucket >= ? AND f.bucket < ?) ORDER BY f.id LIMIT ?) k STRAIGHT_JOIN `shop`.`outbox` o ON o.id = k.id ORDER BY k.id
--   1048576
--   -9223372036854775808
--   1603
--   0
--   512
--   640
--   768
--   501

-- fetch the whole table by seq
SELECT o.id, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, OCTET_LENGTH(o.payload), CASE WHEN OCTET_LENGTH(o.payload) <= ? THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN UTC_TIMESTAMP(6) END, CASE WHEN EXISTS (SELECT 1 FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = o.aggregate_type /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND OCTET_LENGTH(o.aggregate_id) > 0 AND b.id < o.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_order) WHERE o.state = 'PENDING' AND o.id > ? ORDER BY o.id LIMIT ?) k STRAIGHT_JOIN `shop`.`outbox` o ON o.id = k.id ORDER BY k.id
--   1048576
--   -9223372036854775808
--   501

-- fetch in the order of the source
SELECT o.id, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, OCTET_LENGTH(o.payload), CASE WHEN OCTET_LENGTH(o.payload) <= ? THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN UTC_TIMESTAMP(6) END, CASE WHEN EXISTS (SELECT 1 FROM `shop`.`outbox` b FORCE INDEX (rowrelay_pending) WHERE b.id < o.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_order) WHERE o.state = 'PENDING' AND o.id > ? ORDER BY o.id LIMIT ?) k STRAIGHT_JOIN `shop`.`outbox` o ON o.id = k.id ORDER BY k.id
--   1048576
--   -9223372036854775808
--   501

-- fetch without an order, dead letters not blocking
SELECT o.id, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, OCTET_LENGTH(o.payload), CASE WHEN OCTET_LENGTH(o.payload) <= ? THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN UTC_TIMESTAMP(6) END, CASE WHEN 1 = 0 THEN 1 ELSE 0 END FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? ORDER BY o.bucket, o.id LIMIT ?) k STRAIGHT_JOIN `shop`.`outbox` o ON o.id = k.id ORDER BY k.bucket, k.id
--   1048576
--   0
--   1024
--   501

-- due
SELECT o.id, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, OCTET_LENGTH(o.payload), CASE WHEN OCTET_LENGTH(o.payload) <= ? THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN UTC_TIMESTAMP(6) END, 0 FROM `shop`.`outbox` o WHERE o.state = 'FAILED' AND o.next_attempt_at <= UTC_TIMESTAMP(6) AND (1 = 0 OR o.bucket >= ? AND o.bucket < ? OR o.bucket >= ? AND o.bucket < ?) AND (NOT OCTET_LENGTH(o.aggregate_id) > 0 OR (SELECT b.id FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = o.aggregate_type /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.blocked, b.id LIMIT 1) = o.id) ORDER BY o.next_attempt_at, o.id LIMIT ?
--   1048576
--   0
--   16
--   64
--   80
--   10
SELECT COALESCE(-MAX(TIMESTAMPDIFF(MICROSECOND, n.due, UTC_TIMESTAMP(6)) DIV 1000), -1) FROM (SELECT o.next_attempt_at AS due FROM `shop`.`outbox` o WHERE o.state = 'FAILED' AND o.next_attempt_at > UTC_TIMESTAMP(6) AND (1 = 0 OR o.bucket >= ? AND o.bucket < ? OR o.bucket >= ? AND o.bucket < ?) ORDER BY o.next_attempt_at LIMIT 1) n
--   0
--   16
--   64
--   80

-- other
SELECT o.id, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, OCTET_LENGTH(o.payload), CASE WHEN OCTET_LENGTH(o.payload) <= ? THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN UTC_TIMESTAMP(6) END, 0 FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' AND o.bucket >= ? AND o.bucket < ? AND NOT (o.aggregate_type = ? /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND o.aggregate_id = ? /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */) AND NOT (o.aggregate_type = ? /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND o.aggregate_id = ? /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */) AND NOT EXISTS (SELECT 1 FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = o.aggregate_type /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND OCTET_LENGTH(o.aggregate_id) > 0 AND b.id < o.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING')) ORDER BY o.bucket, o.id LIMIT ?) k STRAIGHT_JOIN `shop`.`outbox` o ON o.id = k.id ORDER BY k.bucket, k.id
--   1048576
--   0
--   16
--   O
--   1
--   O
--   2
--   1

-- again
SELECT o.id, o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, OCTET_LENGTH(o.payload), CASE WHEN OCTET_LENGTH(o.payload) <= ? THEN o.payload END, o.available_at, o.expires_at, CASE WHEN o.available_at IS NOT NULL OR o.expires_at IS NOT NULL THEN UTC_TIMESTAMP(6) END, 0 FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (PRIMARY) WHERE o.id IN (1,2) AND o.state = 'PENDING' AND NOT EXISTS (SELECT 1 FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = o.aggregate_type /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND OCTET_LENGTH(o.aggregate_id) > 0 AND b.id < o.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING'))) k STRAIGHT_JOIN `shop`.`outbox` o ON o.id = k.id ORDER BY k.bucket, k.id
--   1048576

-- settle published
UPDATE `shop`.`outbox` SET state = 'PUBLISHED', published_at = UTC_TIMESTAMP(6), next_attempt_at = NULL WHERE id IN (1,2) AND state IN ('PENDING', 'FAILED') AND (SELECT COUNT(*) FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)) >= ?
--   shop.outbox
--   me
--   1
SELECT o.id FROM `shop`.`outbox` o WHERE o.id IN (1,2) AND o.state IN ('PENDING', 'FAILED')

-- settle everything else
BEGIN
SELECT unit FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)
--   shop.outbox
--   me
SELECT c.unit FROM JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r STRAIGHT_JOIN `shop`.`rowrelay_claims` c ON c.outbox = ? AND c.unit = r.unit /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ WHERE 1 = 1 AND c.owner = ? AND c.expires_at > UTC_TIMESTAMP(6) ORDER BY c.unit FOR UPDATE /*!80001 OF c */
--   [{"unit":"p0"}]
--   shop.outbox
--   me
UPDATE `shop`.`outbox` SET state = 'PUBLISHED', published_at = UTC_TIMESTAMP(6), next_attempt_at = NULL WHERE id IN (1,1) AND state IN ('PENDING', 'FAILED')
SELECT o.id FROM `shop`.`outbox` o WHERE o.id IN (1,1) AND o.state IN ('PENDING', 'FAILED')
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (seq BIGINT PATH '$.seq', attempts BIGINT PATH '$.attempts', pause BIGINT PATH '$.pause', dead BIGINT PATH '$.dead', reason VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.reason')) AS f STRAIGHT_JOIN `shop`.`outbox` AS o FORCE INDEX (PRIMARY) ON o.id = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED') SET state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE UTC_TIMESTAMP(6) + INTERVAL (f.pause) * 1000 MICROSECOND END
--   [{"seq":1,"attempts":2,"pause":5000,"dead":0,"reason":"refused"}]
SELECT o.id FROM `shop`.`outbox` o WHERE o.id IN (1) AND EXISTS (SELECT 1 FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = o.aggregate_type /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = o.aggregate_id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND OCTET_LENGTH(o.aggregate_id) > 0 AND b.id < o.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING')
UPDATE `shop`.`outbox` SET state = 'WAITING' WHERE id IN (1) AND state IN ('PENDING')
SELECT a.typ, a.id, (SELECT b.id FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = a.typ /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.blocked, b.id LIMIT 1), (SELECT b.id FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = a.typ /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.blocked, b.id LIMIT 1 OFFSET 4000) FROM JSON_TABLE(?, '$[*]' COLUMNS (typ VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.typ', id VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.id')) AS a
--   [{"typ":"O","id":"1"}]
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (typ VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.typ', id VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.id', head BIGINT PATH '$.head')) AS h STRAIGHT_JOIN `shop`.`outbox` AS o FORCE INDEX (rowrelay_blocked) ON o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.id < h.head AND o.blocked = h.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND o.aggregate_type = h.typ /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND o.aggregate_id = h.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ SET state = 'PENDING'
--   [{"typ":"O","id":"1","head":9}]
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
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (seq BIGINT PATH '$.seq', attempts BIGINT PATH '$.attempts', pause BIGINT PATH '$.pause', dead BIGINT PATH '$.dead', reason VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.reason')) AS f STRAIGHT_JOIN `shop`.`outbox` AS o FORCE INDEX (PRIMARY) ON o.id = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED') SET state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE UTC_TIMESTAMP(6) + INTERVAL (f.pause) * 1000 MICROSECOND END
--   [{"seq":1,"attempts":0,"pause":3600000,"dead":0,"reason":"later"}]
UPDATE `shop`.`outbox` SET state = 'PENDING', next_attempt_at = NULL, last_error = NULL WHERE id IN (1) AND state IN ('FAILED')
UPDATE `shop`.`outbox` SET state = 'DISCARDED', published_at = UTC_TIMESTAMP(6), next_attempt_at = NULL, last_error = 'expired' WHERE id IN (1) AND state IN ('PENDING', 'FAILED')
SELECT a.typ, a.id, (SELECT b.id FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = a.typ /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.blocked, b.id LIMIT 1), (SELECT b.id FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = a.typ /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.blocked, b.id LIMIT 1 OFFSET 2000) FROM JSON_TABLE(?, '$[*]' COLUMNS (typ VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.typ', id VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.id')) AS a
--   [{"typ":"O","id":"1"},{"typ":"O","id":"1"}]
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (typ VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.typ', id VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.id', head BIGINT PATH '$.head')) AS h STRAIGHT_JOIN `shop`.`outbox` AS o FORCE INDEX (rowrelay_blocked) ON o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.id < h.head AND o.blocked = h.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND o.aggregate_type = h.typ /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND o.aggregate_id = h.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ SET state = 'PENDING'
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- settle a retry in the order of the source
BEGIN
SELECT unit FROM `shop`.`rowrelay_claims` WHERE outbox = ? AND owner = ? AND unit NOT LIKE 'i:%' AND expires_at > UTC_TIMESTAMP(6)
--   shop.outbox
--   me
SELECT c.unit FROM JSON_TABLE(?, '$[*]' COLUMNS (unit VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.unit')) AS r STRAIGHT_JOIN `shop`.`rowrelay_claims` c ON c.outbox = ? AND c.unit = r.unit /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ WHERE 1 = 1 AND c.owner = ? AND c.expires_at > UTC_TIMESTAMP(6) ORDER BY c.unit FOR UPDATE /*!80001 OF c */
--   [{"unit":"p0"}]
--   shop.outbox
--   me
UPDATE `shop`.`outbox` SET state = 'PUBLISHED', published_at = UTC_TIMESTAMP(6), next_attempt_at = NULL WHERE id IN (1) AND state IN ('PENDING', 'FAILED')
SELECT o.id FROM `shop`.`outbox` o WHERE o.id IN (1) AND EXISTS (SELECT 1 FROM `shop`.`outbox` b FORCE INDEX (rowrelay_pending) WHERE b.id < o.id AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING')
UPDATE `shop`.`outbox` SET state = 'WAITING' WHERE id IN (1) AND state IN ('PENDING')
SELECT a.typ, a.id, (SELECT b.id FROM `shop`.`outbox` b FORCE INDEX (rowrelay_pending) WHERE 1 = 1 AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.id LIMIT 1), (SELECT b.id FROM `shop`.`outbox` b FORCE INDEX (rowrelay_pending) WHERE 1 = 1 AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.id LIMIT 1 OFFSET 4000) FROM JSON_TABLE(?, '$[*]' COLUMNS (typ VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.typ', id VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.id')) AS a
--   [{"typ":"","id":""}]
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (typ VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.typ', id VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.id', head BIGINT PATH '$.head')) AS h STRAIGHT_JOIN `shop`.`outbox` AS o FORCE INDEX (rowrelay_pending) ON o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.id < h.head SET state = 'PENDING'
--   [{"typ":"O","id":"1","head":9}]
COMMIT

-- mend
SELECT DISTINCT o.aggregate_type, o.aggregate_id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING'
SELECT a.typ, a.id, (SELECT b.id FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = a.typ /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state <> 'WAITING' ORDER BY b.blocked, b.id LIMIT 1), (SELECT b.id FROM `shop`.`outbox` b FORCE INDEX (rowrelay_blocked) WHERE b.blocked = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_type = a.typ /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.aggregate_id = a.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND b.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND b.state = 'WAITING' ORDER BY b.blocked, b.id LIMIT 1 OFFSET 4000) FROM JSON_TABLE(?, '$[*]' COLUMNS (typ VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.typ', id VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.id')) AS a
--   [{"typ":"O","id":"1"}]
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (typ VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.typ', id VARCHAR(1000) CHARACTER SET utf8mb4 PATH '$.id', head BIGINT PATH '$.head')) AS h STRAIGHT_JOIN `shop`.`outbox` AS o FORCE INDEX (rowrelay_blocked) ON o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' AND o.id < h.head AND o.blocked = h.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND o.aggregate_type = h.typ /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ AND o.aggregate_id = h.id /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */ SET state = 'PENDING'
--   [{"typ":"O","id":"1","head":9}]

-- work
SELECT bucket FROM (SELECT o.bucket FROM `shop`.`outbox` o WHERE o.state = 'FAILED' AND o.next_attempt_at <= UTC_TIMESTAMP(6) ORDER BY o.next_attempt_at LIMIT 1000) n UNION ALL SELECT bucket FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' AND o.bucket >= 0 AND o.bucket < 512 ORDER BY o.bucket, o.id LIMIT 1) r0 UNION ALL SELECT bucket FROM (SELECT o.bucket, o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' AND o.bucket >= 512 AND o.bucket < 1024 ORDER BY o.bucket, o.id LIMIT 1) r1

-- figures
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' ORDER BY o.bucket, o.id LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.state = 'FAILED' AND o.retry_count = 0 AND o.next_attempt_at > UTC_TIMESTAMP(6) ORDER BY o.next_attempt_at LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o WHERE o.state = 'FAILED' AND NOT (o.retry_count = 0 AND o.next_attempt_at > UTC_TIMESTAMP(6)) ORDER BY o.next_attempt_at LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'WAITING' ORDER BY o.bucket, o.id LIMIT ?) n), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state IN ('FAILED', 'DEAD LETTER', 'WAITING') AND o.state = 'DEAD LETTER' ORDER BY o.bucket, o.id LIMIT ?) n), (SELECT a.created_at FROM `shop`.`outbox` a WHERE a.id = (SELECT MIN(h.seq) FROM (SELECT (SELECT o.id FROM `shop`.`outbox` o FORCE INDEX (rowrelay_pending) WHERE o.state = 'PENDING' AND o.bucket = r.b ORDER BY o.bucket, o.id LIMIT 1) AS seq FROM JSON_TABLE(?, '$[*]' COLUMNS (b BIGINT PATH '$.b')) AS r) h)), UTC_TIMESTAMP(6)
--   100001
--   100001
--   100001
--   100001
--   100001
--   [{"b":0},{"b":1},{"b":2},{"b":3},{"b":4},{"b":5},{"b":6},{"b":7},{"b":8},{"b":9},{"b":10},{"b":11},{

