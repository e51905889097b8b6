CREATE TABLE `shop`.`rowrelay_history_orders` (
	`rowrelay_change` BIGINT NOT NULL AUTO_INCREMENT,
	`rowrelay_operation` VARCHAR(6) CHARACTER SET ascii NOT NULL,
	`rowrelay_written` DATETIME(6) NOT NULL,
	`rowrelay_context` VARCHAR(258) CHARACTER SET ascii NULL,
	`tenant` varchar(20) NOT NULL,
	`id` bigint NOT NULL,
	`note` text NULL,
	`rowrelay_was_tenant` varchar(20) NULL,
	`rowrelay_was_id` bigint NULL,
	`rowrelay_was_note` text NULL,
	PRIMARY KEY (`rowrelay_change`, `tenant`, `id`)
) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS `shop`.`rowrelay_history_orders_state` (
	one TINYINT NOT NULL PRIMARY KEY,
	`rowrelay_floor` BIGINT NOT NULL
) ENGINE=InnoDB;
LOCK TABLES `shop`.`orders` WRITE, `shop`.`rowrelay_history_orders` WRITE, `shop`.`rowrelay_history_orders_state` WRITE;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
DROP TRIGGER IF EXISTS `shop`.`rowrelay_history_orders_insert`;
DELIMITER //
CREATE TRIGGER `shop`.`rowrelay_history_orders_insert` AFTER INSERT ON `shop`.`orders` FOR EACH ROW
BEGIN
	INSERT INTO `shop`.`rowrelay_history_orders` (`rowrelay_operation`, `rowrelay_written`, `rowrelay_context`, `tenant`, `id`, `note`)
		VALUES ('insert', GREATEST(UTC_TIMESTAMP(6), SYSDATE(6) + INTERVAL TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()) SECOND), LEFT(LOWER(CONVERT(@rowrelay_context USING ascii)), 258), NEW.`tenant`, NEW.`id`, NEW.`note`);
END//
DELIMITER ;
DROP TRIGGER IF EXISTS `shop`.`rowrelay_history_orders_update`;
DELIMITER //
CREATE TRIGGER `shop`.`rowrelay_history_orders_update` AFTER UPDATE ON `shop`.`orders` FOR EACH ROW
BEGIN
	IF OLD.`tenant` <=> NEW.`tenant` AND OLD.`id` <=> NEW.`id` THEN
		INSERT INTO `shop`.`rowrelay_history_orders` (`rowrelay_operation`, `rowrelay_written`, `rowrelay_context`, `tenant`, `id`, `note`, `rowrelay_was_tenant`, `rowrelay_was_id`, `rowrelay_was_note`)
		VALUES ('update', GREATEST(UTC_TIMESTAMP(6), SYSDATE(6) + INTERVAL TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()) SECOND), LEFT(LOWER(CONVERT(@rowrelay_context USING ascii)), 258), NEW.`tenant`, NEW.`id`, NEW.`note`, OLD.`tenant`, OLD.`id`, OLD.`note`);
	ELSE
		INSERT INTO `shop`.`rowrelay_history_orders` (`rowrelay_operation`, `rowrelay_written`, `rowrelay_context`, `tenant`, `id`, `note`)
		VALUES ('delete', GREATEST(UTC_TIMESTAMP(6), SYSDATE(6) + INTERVAL TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()) SECOND), LEFT(LOWER(CONVERT(@rowrelay_context USING ascii)), 258), OLD.`tenant`, OLD.`id`, OLD.`note`);
		INSERT INTO `shop`.`rowrelay_history_orders` (`rowrelay_operation`, `rowrelay_written`, `rowrelay_context`, `tenant`, `id`, `note`)
		VALUES ('insert', GREATEST(UTC_TIMESTAMP(6), SYSDATE(6) + INTERVAL TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()) SECOND), LEFT(LOWER(CONVERT(@rowrelay_context USING ascii)), 258), NEW.`tenant`, NEW.`id`, NEW.`note`);
	END IF;
END//
DELIMITER ;
DROP TRIGGER IF EXISTS `shop`.`rowrelay_history_orders_delete`;
DELIMITER //
CREATE TRIGGER `shop`.`rowrelay_history_orders_delete` AFTER DELETE ON `shop`.`orders` FOR EACH ROW
BEGIN
	INSERT INTO `shop`.`rowrelay_history_orders` (`rowrelay_operation`, `rowrelay_written`, `rowrelay_context`, `tenant`, `id`, `note`)
		VALUES ('delete', GREATEST(UTC_TIMESTAMP(6), SYSDATE(6) + INTERVAL TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()) SECOND), LEFT(LOWER(CONVERT(@rowrelay_context USING ascii)), 258), OLD.`tenant`, OLD.`id`, OLD.`note`);
END//
DELIMITER ;
SET SESSION sql_mode = DEFAULT;
SET @rowrelay_floor = 1 + GREATEST(CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED),
	COALESCE((SELECT MAX(`rowrelay_change`) FROM `shop`.`rowrelay_history_orders`), 0), COALESCE((SELECT MAX(`rowrelay_floor`) FROM `shop`.`rowrelay_history_orders_state`), 0));
INSERT INTO `shop`.`rowrelay_history_orders_state` VALUES (1, @rowrelay_floor) ON DUPLICATE KEY UPDATE `rowrelay_floor` = @rowrelay_floor;
SET @rowrelay_numbers = CONCAT('ALTER TABLE `shop`.`rowrelay_history_orders` AUTO_INCREMENT = ', @rowrelay_floor + 1);
PREPARE rowrelay_numbers FROM @rowrelay_numbers;
EXECUTE rowrelay_numbers;
DEALLOCATE PREPARE rowrelay_numbers;
UNLOCK TABLES;

ALTER TABLE `shop`.`rowrelay_history_orders` ADD COLUMN `note` text NULL;
ALTER TABLE `shop`.`rowrelay_history_orders` ADD COLUMN `rowrelay_was_note` text NULL;
LOCK TABLES `shop`.`orders` WRITE, `shop`.`rowrelay_history_orders` WRITE;
-- as above: SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES';
-- as above: DROP TRIGGER IF EXISTS `shop`.`rowrelay_history_orders_insert`;
-- as above: CREATE TRIGGER `shop`.`rowrelay_history_orders_insert` AFTER INSERT ON `shop`.`orders` FOR EACH ROW;
-- as above: DROP TRIGGER IF EXISTS `shop`.`rowrelay_history_orders_update`;
-- as above: CREATE TRIGGER `shop`.`rowrelay_history_orders_update` AFTER UPDATE ON `shop`.`orders` FOR EACH ROW;
-- as above: DROP TRIGGER IF EXISTS `shop`.`rowrelay_history_orders_delete`;
-- as above: CREATE TRIGGER `shop`.`rowrelay_history_orders_delete` AFTER DELETE ON `shop`.`orders` FOR EACH ROW;
-- as above: SET SESSION sql_mode = DEFAULT;
-- as above: UNLOCK TABLES;
ALTER TABLE `shop`.`rowrelay_history_orders` DROP COLUMN `gone`;
ALTER TABLE `shop`.`rowrelay_history_orders` DROP COLUMN `rowrelay_was_gone`;

-- uninstall
DROP TRIGGER IF EXISTS `shop`.`rowrelay_history_orders_insert`;
DROP TRIGGER IF EXISTS `shop`.`rowrelay_history_orders_update`;
DROP TRIGGER IF EXISTS `shop`.`rowrelay_history_orders_delete`;
DROP TABLE IF EXISTS `shop`.`rowrelay_history_orders`;
DROP TABLE IF EXISTS `shop`.`rowrelay_history_orders_state`;
