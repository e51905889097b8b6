CREATE TABLE IF NOT EXISTS `sales`.`rowrelay_applied` (
    id varchar(32) NOT NULL PRIMARY KEY,
    scope varchar(400) NOT NULL,
    token bigint NOT NULL,
    number bigint NOT NULL,
    event_id varchar(128) NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 /*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */

INSERT INTO `sales`.`rowrelay_applied` (`id`, `scope`, `token`, `number`, `event_id`) VALUES (?, ?, 0, 0, ''), (?, ?, 0, 0, '') ON DUPLICATE KEY UPDATE `id` = VALUES(`id`)

SELECT id, token, number, event_id FROM `sales`.`rowrelay_applied` g WHERE id IN (?,?) ORDER BY id FOR UPDATE /*!80001 OF g */

INSERT INTO `sales`.`rowrelay_applied` (`id`, `scope`, `token`, `number`, `event_id`) VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE `scope` = VALUES(`scope`), `token` = VALUES(`token`), `number` = VALUES(`number`), `event_id` = VALUES(`event_id`)

DELETE FROM `sales`.`copies` WHERE `id` = ?

INSERT INTO `sales`.`copies` (`id`, `amount`, `note`, `photo`) VALUES (?, ?, ?, ?), (?, ?, ?, ?) ON DUPLICATE KEY UPDATE `amount` = VALUES(`amount`), `note` = VALUES(`note`), `photo` = VALUES(`photo`)

INSERT INTO `sales`.`copies` (`id`) VALUES (?) ON DUPLICATE KEY UPDATE `id` = VALUES(`id`)
