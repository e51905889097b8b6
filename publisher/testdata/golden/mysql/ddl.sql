CREATE TABLE IF NOT EXISTS `shop`.`outbox` (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    aggregate_type varchar(255) NOT NULL,
    aggregate_id varchar(255) NOT NULL,
    event_type varchar(255) NOT NULL,
    payload longtext NOT NULL,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    published boolean GENERATED ALWAYS AS (state = 'PUBLISHED') VIRTUAL,
    published_at timestamp(6) NULL DEFAULT NULL,
    retry_count int NOT NULL DEFAULT 0,
    idempotency_key varchar(255) NOT NULL,
    state varchar(16) NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'PUBLISHED', 'FAILED', 'WAITING', 'DEAD LETTER', 'DISCARDED')),
    next_attempt_at timestamp(6) NULL DEFAULT NULL,
    last_error varchar(1000) NULL,
    bucket smallint GENERATED ALWAYS AS (CRC32(aggregate_id) & 1023) STORED,
    blocked varchar(255) GENERATED ALWAYS AS (CASE WHEN state IN ('FAILED', 'DEAD LETTER', 'WAITING') THEN aggregate_id END) VIRTUAL,
    traceparent varchar(255) NULL,
    tracestate varchar(1000) NULL,
    available_at timestamp(6) NULL DEFAULT NULL,
    expires_at timestamp(6) NULL DEFAULT NULL,
    UNIQUE KEY rowrelay_key (idempotency_key),
    KEY rowrelay_pending (state, bucket, id, aggregate_type, aggregate_id),
    KEY rowrelay_order (state, id, bucket),
    KEY rowrelay_due (next_attempt_at),
    KEY rowrelay_blocked (blocked, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */;
CREATE TABLE IF NOT EXISTS `shop`.`rowrelay_claims` (
    outbox varchar(190) NOT NULL,
    unit varchar(255) NOT NULL,
    owner varchar(255) NOT NULL,
    token bigint NOT NULL,
    expires_at datetime(6) NOT NULL,
    info varchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */;
CREATE TABLE IF NOT EXISTS rowrelay_locks (slot smallint NOT NULL PRIMARY KEY) ENGINE=InnoDB;
INSERT IGNORE INTO rowrelay_locks WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 31) SELECT 32 * a.i + b.i FROM n AS a CROSS JOIN n AS b;
