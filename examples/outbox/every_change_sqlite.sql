-- Every insert, update and delete of orders as an event of the outbox, with the row before and after it. SQLite.
-- What INSERT OR REPLACE takes away fires a trigger only after PRAGMA recursive_triggers = ON.
CREATE TRIGGER orders_inserted AFTER INSERT ON orders BEGIN
    INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
    VALUES ('Order', NEW.id, 'OrderInserted',
        json_object('after', json_object('id', NEW.id, 'customer', NEW.customer, 'total', NEW.total)),
        hex(randomblob(16)));
END;

CREATE TRIGGER orders_updated AFTER UPDATE ON orders WHEN OLD.id IS NEW.id BEGIN
    INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
    VALUES ('Order', NEW.id, 'OrderUpdated',
        json_object('before', json_object('id', OLD.id, 'customer', OLD.customer, 'total', OLD.total),
            'after', json_object('id', NEW.id, 'customer', NEW.customer, 'total', NEW.total)),
        hex(randomblob(16)));
END;

-- A change of the key ends one order and begins another.
CREATE TRIGGER orders_moved AFTER UPDATE ON orders WHEN OLD.id IS NOT NEW.id BEGIN
    INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
    VALUES ('Order', OLD.id, 'OrderDeleted',
        json_object('before', json_object('id', OLD.id, 'customer', OLD.customer, 'total', OLD.total)),
        hex(randomblob(16))),
        ('Order', NEW.id, 'OrderInserted',
        json_object('after', json_object('id', NEW.id, 'customer', NEW.customer, 'total', NEW.total)),
        hex(randomblob(16)));
END;

CREATE TRIGGER orders_deleted AFTER DELETE ON orders BEGIN
    INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
    VALUES ('Order', OLD.id, 'OrderDeleted',
        json_object('before', json_object('id', OLD.id, 'customer', OLD.customer, 'total', OLD.total)),
        hex(randomblob(16)));
END;
