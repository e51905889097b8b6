CREATE TABLE IF NOT EXISTS `shop`.`rowrelay_changes_orders` (
	`tenant` varchar(20) NOT NULL,
	`id` bigint NOT NULL,
	`rowrelay_version` DATETIME(6) NOT NULL,
	`rowrelay_created` DATETIME(6) NOT NULL,
	PRIMARY KEY (`tenant`, `id`),
	KEY `rowrelay_changes_orders_version` (`rowrelay_version`, `tenant`, `id`, `rowrelay_created`)
) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS `shop`.`rowrelay_changes_orders_state` (
	one TINYINT NOT NULL PRIMARY KEY,
	`rowrelay_floor` DATETIME(6) NOT NULL
) ENGINE=InnoDB;
DELIMITER //
CREATE TRIGGER IF NOT EXISTS `shop`.`rowrelay_changes_orders_insert` AFTER INSERT ON `shop`.`orders` FOR EACH ROW
BEGIN
	DECLARE `rowrelay_now` DATETIME(6) DEFAULT GREATEST(UTC_TIMESTAMP(6), SYSDATE(6) + INTERVAL TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()) SECOND);
	INSERT INTO `shop`.`rowrelay_changes_orders` (`tenant`, `id`, `rowrelay_version`, `rowrelay_created`)
		VALUES (NEW.`tenant`, NEW.`id`, `rowrelay_now`, `rowrelay_now`)
		ON DUPLICATE KEY UPDATE `tenant` = NEW.`tenant`, `id` = NEW.`id`, `rowrelay_version` = GREATEST(`rowrelay_now`, `rowrelay_version` + INTERVAL 1 MICROSECOND), `rowrelay_created` = `rowrelay_version`;
END//
DELIMITER ;
DELIMITER //
CREATE TRIGGER IF NOT EXISTS `shop`.`rowrelay_changes_orders_update` AFTER UPDATE ON `shop`.`orders` FOR EACH ROW
BEGIN
	DECLARE `rowrelay_now` DATETIME(6) DEFAULT GREATEST(UTC_TIMESTAMP(6), SYSDATE(6) + INTERVAL TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()) SECOND);
	IF OLD.`tenant` <=> NEW.`tenant` AND OLD.`id` <=> NEW.`id` THEN
		INSERT INTO `shop`.`rowrelay_changes_orders` (`tenant`, `id`, `rowrelay_version`, `rowrelay_created`)
		VALUES (NEW.`tenant`, NEW.`id`, `rowrelay_now`, '1970-01-01 00:00:00')
		ON DUPLICATE KEY UPDATE `tenant` = NEW.`tenant`, `id` = NEW.`id`, `rowrelay_version` = GREATEST(`rowrelay_now`, `rowrelay_version` + INTERVAL 1 MICROSECOND);
	ELSE
		INSERT INTO `shop`.`rowrelay_changes_orders` (`tenant`, `id`, `rowrelay_version`, `rowrelay_created`)
		VALUES (OLD.`tenant`, OLD.`id`, `rowrelay_now`, '1970-01-01 00:00:00')
		ON DUPLICATE KEY UPDATE `tenant` = OLD.`tenant`, `id` = OLD.`id`, `rowrelay_version` = GREATEST(`rowrelay_now`, `rowrelay_version` + INTERVAL 1 MICROSECOND);
		INSERT INTO `shop`.`rowrelay_changes_orders` (`tenant`, `id`, `rowrelay_version`, `rowrelay_created`)
		VALUES (NEW.`tenant`, NEW.`id`, `rowrelay_now`, `rowrelay_now`)
		ON DUPLICATE KEY UPDATE `tenant` = NEW.`tenant`, `id` = NEW.`id`, `rowrelay_version` = GREATEST(`rowrelay_now`, `rowrelay_version` + INTERVAL 1 MICROSECOND), `rowrelay_created` = `rowrelay_version`;
	END IF;
END//
DELIMITER ;
DELIMITER //
CREATE TRIGGER IF NOT EXISTS `shop`.`rowrelay_changes_orders_delete` AFTER DELETE ON `shop`.`orders` FOR EACH ROW
BEGIN
	DECLARE `rowrelay_now` DATETIME(6) DEFAULT GREATEST(UTC_TIMESTAMP(6), SYSDATE(6) + INTERVAL TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()) SECOND);
	INSERT INTO `shop`.`rowrelay_changes_orders` (`tenant`, `id`, `rowrelay_version`, `rowrelay_created`)
		VALUES (OLD.`tenant`, OLD.`id`, `rowrelay_now`, '1970-01-01 00:00:00')
		ON DUPLICATE KEY UPDATE `tenant` = OLD.`tenant`, `id` = OLD.`id`, `rowrelay_version` = GREATEST(`rowrelay_now`, `rowrelay_version` + INTERVAL 1 MICROSECOND);
END//
DELIMITER ;
INSERT INTO `shop`.`rowrelay_changes_orders_state` VALUES (1, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE `rowrelay_floor` = UTC_TIMESTAMP(6);

-- uninstall
DROP TRIGGER IF EXISTS `shop`.`rowrelay_changes_orders_insert`;
DROP TRIGGER IF EXISTS `shop`.`rowrelay_changes_orders_update`;
DROP TRIGGER IF EXISTS `shop`.`rowrelay_changes_orders_delete`;
DROP TABLE IF EXISTS `shop`.`rowrelay_changes_orders`;
DROP TABLE IF EXISTS `shop`.`rowrelay_changes_orders_state`;

-- purge
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
UPDATE `shop`.`rowrelay_changes_orders_state` SET `rowrelay_floor` = (SELECT `shop`.`rowrelay_changes_orders`.`rowrelay_version` FROM `shop`.`rowrelay_changes_orders` WHERE (this OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 3600 SECOND))
	AND (that OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 3600 SECOND) AND NOT (near))
	AND NOT EXISTS (SELECT 1 FROM `shop`.`orders` AS t WHERE t.`tenant` = `shop`.`rowrelay_changes_orders`.`tenant` AND t.`id` = `shop`.`rowrelay_changes_orders`.`id`)
	ORDER BY `shop`.`rowrelay_changes_orders`.`rowrelay_version` DESC LIMIT 1)
WHERE EXISTS (SELECT 1 FROM `shop`.`rowrelay_changes_orders` WHERE `shop`.`rowrelay_changes_orders`.`rowrelay_version` > `rowrelay_floor` AND (this OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 3600 SECOND))
	AND (that OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 3600 SECOND) AND NOT (near))
	AND NOT EXISTS (SELECT 1 FROM `shop`.`orders` AS t WHERE t.`tenant` = `shop`.`rowrelay_changes_orders`.`tenant` AND t.`id` = `shop`.`rowrelay_changes_orders`.`id`));
DELETE FROM `shop`.`rowrelay_changes_orders` WHERE (this OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 3600 SECOND))
	AND (that OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 3600 SECOND) AND NOT (near))
	AND NOT EXISTS (SELECT 1 FROM `shop`.`orders` AS t WHERE t.`tenant` = `shop`.`rowrelay_changes_orders`.`tenant` AND t.`id` = `shop`.`rowrelay_changes_orders`.`id`);
COMMIT;

-- purge, with a limit
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
UPDATE `shop`.`rowrelay_changes_orders_state` SET `rowrelay_floor` = (SELECT `shop`.`rowrelay_changes_orders`.`rowrelay_version` FROM `shop`.`rowrelay_changes_orders` WHERE (this OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 3600 SECOND) AND NOT (near) OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` <= '4711' AND `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 0 SECOND) AND NOT (here))
	AND NOT EXISTS (SELECT 1 FROM `shop`.`orders` AS t WHERE t.`tenant` = `shop`.`rowrelay_changes_orders`.`tenant` AND t.`id` = `shop`.`rowrelay_changes_orders`.`id`)
	ORDER BY `shop`.`rowrelay_changes_orders`.`rowrelay_version` DESC LIMIT 1)
WHERE EXISTS (SELECT 1 FROM `shop`.`rowrelay_changes_orders` WHERE `shop`.`rowrelay_changes_orders`.`rowrelay_version` > `rowrelay_floor` AND (this OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 3600 SECOND) AND NOT (near) OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` <= '4711' AND `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 0 SECOND) AND NOT (here))
	AND NOT EXISTS (SELECT 1 FROM `shop`.`orders` AS t WHERE t.`tenant` = `shop`.`rowrelay_changes_orders`.`tenant` AND t.`id` = `shop`.`rowrelay_changes_orders`.`id`));
DELETE FROM `shop`.`rowrelay_changes_orders` WHERE (this OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 3600 SECOND) AND NOT (near) OR `shop`.`rowrelay_changes_orders`.`rowrelay_version` <= '4711' AND `shop`.`rowrelay_changes_orders`.`rowrelay_version` < (UTC_TIMESTAMP(6) - INTERVAL 0 SECOND) AND NOT (here))
	AND NOT EXISTS (SELECT 1 FROM `shop`.`orders` AS t WHERE t.`tenant` = `shop`.`rowrelay_changes_orders`.`tenant` AND t.`id` = `shop`.`rowrelay_changes_orders`.`id`);
COMMIT;

-- rows
(
	SELECT c.`tenant`, c.`id`, t.`note`, c.`rowrelay_version`, c.`rowrelay_created`, t.`tenant` AS `rowrelay_present`
	FROM `shop`.`rowrelay_changes_orders` AS c LEFT JOIN `shop`.`orders` AS t ON t.`tenant` = c.`tenant` AND t.`id` = c.`id`
)
