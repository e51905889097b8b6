-- Every insert, update and delete of orders as an event of the outbox, with the row before and after it. MySQL and
-- MariaDB. Who writes an order holds its row until the commit, so that the events of one order have the order of its
-- changes. What a foreign key cascades fires no trigger there.
CREATE TRIGGER orders_inserted AFTER INSERT ON orders FOR EACH ROW
INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
VALUES ('Order', NEW.id, 'OrderInserted',
    JSON_OBJECT('after', JSON_OBJECT('id', NEW.id, 'customer', NEW.customer, 'total', NEW.total)), UUID());

CREATE TRIGGER orders_updated AFTER UPDATE ON orders FOR EACH ROW
INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
SELECT 'Order', NEW.id, 'OrderUpdated',
    JSON_OBJECT('before', JSON_OBJECT('id', OLD.id, 'customer', OLD.customer, 'total', OLD.total),
        'after', JSON_OBJECT('id', NEW.id, 'customer', NEW.customer, 'total', NEW.total)), UUID()
FROM DUAL WHERE OLD.id = NEW.id
-- A change of the key ends one order and begins another.
UNION ALL SELECT 'Order', OLD.id, 'OrderDeleted',
    JSON_OBJECT('before', JSON_OBJECT('id', OLD.id, 'customer', OLD.customer, 'total', OLD.total)), UUID()
FROM DUAL WHERE OLD.id <> NEW.id
UNION ALL SELECT 'Order', NEW.id, 'OrderInserted',
    JSON_OBJECT('after', JSON_OBJECT('id', NEW.id, 'customer', NEW.customer, 'total', NEW.total)), UUID()
FROM DUAL WHERE OLD.id <> NEW.id;

CREATE TRIGGER orders_deleted AFTER DELETE ON orders FOR EACH ROW
INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
VALUES ('Order', OLD.id, 'OrderDeleted',
    JSON_OBJECT('before', JSON_OBJECT('id', OLD.id, 'customer', OLD.customer, 'total', OLD.total)), UUID());
