CREATE TABLE IF NOT EXISTS `shop`.`rowrelay_claims` (
    outbox varchar(190) NOT NULL,
    unit varchar(255) NOT NULL,
    owner varchar(255) NOT NULL,
    token bigint NOT NULL,
    expires_at datetime(6) NOT NULL,
    info varchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */;
CREATE TABLE IF NOT EXISTS `shop`.`rowrelay_claims_events` (
    outbox varchar(190) NOT NULL,
    event varchar(255) NOT NULL,
    aggregate_type varchar(255) NOT NULL,
    aggregate_id varchar(255) NOT NULL,
    position varchar(64) NOT NULL,
    state varchar(16) NOT NULL CHECK (state IN ('FAILED', 'DEAD LETTER', 'DISCARDED')),
    attempts int NOT NULL,
    next_attempt_at datetime(6) NULL,
    last_error varchar(1000) NULL,
    PRIMARY KEY (outbox, event),
    INDEX aggregate (outbox, aggregate_type, aggregate_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
