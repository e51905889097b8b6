-- What commit 964bf901 (22 November 2026) left behind: its `outbox init --apply` made the tables, and `rowrelay run` with
-- source__strategy=skip_locked published 1, gave 2 up (max_attempts=1), sent 4 to 7, and was killed by SIGKILL before the
-- receiver answered; the application wrote two more. Dumped by mariadb-dump, without what only its client reads
-- and without the generated columns; the database is called shop.
CREATE TABLE `outbox` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `aggregate_type` varchar(255) NOT NULL,
  `aggregate_id` varchar(255) NOT NULL,
  `event_type` varchar(255) NOT NULL,
  `payload` longtext NOT NULL,
  `created_at` timestamp(6) NOT NULL DEFAULT current_timestamp(6),
  `published` tinyint(1) GENERATED ALWAYS AS (`state` = 'PUBLISHED') VIRTUAL,
  `published_at` timestamp(6) NULL DEFAULT NULL,
  `retry_count` int(11) NOT NULL DEFAULT 0,
  `idempotency_key` varchar(255) NOT NULL,
  `state` varchar(16) NOT NULL DEFAULT 'PENDING' CHECK (`state` in ('PENDING','PUBLISHING','PUBLISHED','FAILED','WAITING','DEAD LETTER','DISCARDED')),
  `next_attempt_at` timestamp(6) NULL DEFAULT NULL,
  `last_error` varchar(1000) DEFAULT NULL,
  `bucket` smallint(6) GENERATED ALWAYS AS (conv(substr(md5(`aggregate_id`),1,3),16,10) & 1023) STORED,
  `blocked` varchar(255) GENERATED ALWAYS AS (case when `state` in ('FAILED','DEAD LETTER','WAITING') then `aggregate_id` end) VIRTUAL,
  `traceparent` varchar(255) DEFAULT NULL,
  `tracestate` varchar(1000) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `rowrelay_key` (`idempotency_key`),
  KEY `rowrelay_pending` (`state`,`bucket`,`id`),
  KEY `rowrelay_order` (`state`,`id`,`bucket`),
  KEY `rowrelay_due` (`next_attempt_at`),
  KEY `rowrelay_blocked` (`blocked`,`id`)
) ENGINE=InnoDB AUTO_INCREMENT=10 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `outbox` (id, aggregate_type, aggregate_id, event_type, payload, created_at, published_at, retry_count, idempotency_key, state, next_attempt_at, last_error, traceparent, tracestate) VALUES (1, 'Order', 'a', 'Happened', '{\"n\": 1}', '2026-11-28 11:46:16.319703', '2026-11-28 11:46:17.103711', 0, 'key-1', 'PUBLISHED', NULL, NULL, NULL, NULL);
INSERT INTO `outbox` (id, aggregate_type, aggregate_id, event_type, payload, created_at, published_at, retry_count, idempotency_key, state, next_attempt_at, last_error, traceparent, tracestate) VALUES (2, 'Order', 'b', 'Happened', '{\"n\": 2, \"refuse\": true}', '2026-11-28 11:46:16.392508', NULL, 1, 'key-2', 'DEAD LETTER', NULL, 'http://127.0.0.1:34675 answered 422 Unprocessable Entity', NULL, NULL);
INSERT INTO `outbox` (id, aggregate_type, aggregate_id, event_type, payload, created_at, published_at, retry_count, idempotency_key, state, next_attempt_at, last_error, traceparent, tracestate) VALUES (3, 'Order', 'b', 'Happened', '{\"n\": 3}', '2026-11-28 11:46:16.439978', NULL, 0, 'key-3', 'WAITING', NULL, NULL, NULL, NULL);
INSERT INTO `outbox` (id, aggregate_type, aggregate_id, event_type, payload, created_at, published_at, retry_count, idempotency_key, state, next_attempt_at, last_error, traceparent, tracestate) VALUES (4, 'Order', 'a', 'Happened', '{\"n\": 4}', '2026-11-28 11:46:17.316265', NULL, 0, 'key-4', 'PUBLISHING', NULL, NULL, NULL, NULL);
INSERT INTO `outbox` (id, aggregate_type, aggregate_id, event_type, payload, created_at, published_at, retry_count, idempotency_key, state, next_attempt_at, last_error, traceparent, tracestate) VALUES (5, 'Order', 'c', 'Happened', '{\"n\": 5}', '2026-11-28 11:46:17.325194', NULL, 0, 'key-5', 'PUBLISHING', NULL, NULL, NULL, NULL);
INSERT INTO `outbox` (id, aggregate_type, aggregate_id, event_type, payload, created_at, published_at, retry_count, idempotency_key, state, next_attempt_at, last_error, traceparent, tracestate) VALUES (6, 'Order', 'c', 'Happened', '{\"n\": 6}', '2026-11-28 11:46:17.340713', NULL, 0, 'key-6', 'PUBLISHING', NULL, NULL, NULL, NULL);
INSERT INTO `outbox` (id, aggregate_type, aggregate_id, event_type, payload, created_at, published_at, retry_count, idempotency_key, state, next_attempt_at, last_error, traceparent, tracestate) VALUES (7, 'Order', 'd', 'Happened', '{\"n\": 7}', '2026-11-28 11:46:17.394541', NULL, 0, 'key-7', 'PUBLISHING', NULL, NULL, NULL, NULL);
INSERT INTO `outbox` (id, aggregate_type, aggregate_id, event_type, payload, created_at, published_at, retry_count, idempotency_key, state, next_attempt_at, last_error, traceparent, tracestate) VALUES (8, 'Order', 'a', 'Happened', '{\"n\": 8}', '2026-11-28 11:46:18.533623', NULL, 0, 'key-8', 'PENDING', NULL, NULL, NULL, NULL);
INSERT INTO `outbox` (id, aggregate_type, aggregate_id, event_type, payload, created_at, published_at, retry_count, idempotency_key, state, next_attempt_at, last_error, traceparent, tracestate) VALUES (9, 'Order', 'e', 'Happened', '{\"n\": 9}', '2026-11-28 11:46:18.551590', NULL, 0, 'key-9', 'PENDING', NULL, NULL, NULL, NULL);
CREATE TABLE `rowrelay_claims` (
  `outbox` varchar(190) NOT NULL,
  `unit` varchar(255) NOT NULL,
  `owner` varchar(255) NOT NULL,
  `token` bigint(20) NOT NULL,
  `expires_at` datetime(6) NOT NULL,
  `info` varchar(1000) DEFAULT NULL,
  PRIMARY KEY (`outbox`,`unit`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;
INSERT INTO `rowrelay_claims` (outbox, unit, owner, token, expires_at, info) VALUES ('shop.outbox', '*', '', 4, '2026-11-28 11:46:17.053781', '{\"strategy\":\"skip_locked\"}');
INSERT INTO `rowrelay_claims` (outbox, unit, owner, token, expires_at, info) VALUES ('shop.outbox', 'a:a240fa27925a635b08dc28c9e4f9216d0cc175b9c0f1b6a831c399e269772661', 'shop/vm-19008#ddd0df1f', 3, '2026-11-28 11:46:21.097905', '{\"id\":\"a\",\"type\":\"Order\"}');
INSERT INTO `rowrelay_claims` (outbox, unit, owner, token, expires_at, info) VALUES ('shop.outbox', 'a:a240fa27925a635b08dc28c9e4f9216d4a8a08f09d37b73795649038408b5f33', 'shop/vm-19008#ddd0df1f', 3, '2026-11-28 11:46:21.097905', '{\"id\":\"c\",\"type\":\"Order\"}');
INSERT INTO `rowrelay_claims` (outbox, unit, owner, token, expires_at, info) VALUES ('shop.outbox', 'a:a240fa27925a635b08dc28c9e4f9216d8277e0910d750195b448797616e091ad', 'shop/vm-19008#ddd0df1f', 3, '2026-11-28 11:46:21.097905', '{\"id\":\"d\",\"type\":\"Order\"}');
INSERT INTO `rowrelay_claims` (outbox, unit, owner, token, expires_at, info) VALUES ('shop.outbox', 'i:shop/vm-19008#ddd0df1f', 'shop/vm-19008#ddd0df1f', 0, '2026-11-28 11:46:21.109047', '');
