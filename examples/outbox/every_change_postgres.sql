-- Every insert, update and delete of orders as an event of the outbox, with the row before and after it. PostgreSQL.
-- Who writes an order holds its row until the commit, so that the events of one order have the order of its changes.
CREATE OR REPLACE FUNCTION orders_to_outbox() RETURNS trigger LANGUAGE plpgsql
-- With the rights of who makes it: writers of orders need none on the outbox.
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.id = NEW.id THEN
        INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
        VALUES ('Order', NEW.id::text, 'OrderUpdated',
            json_build_object('before', to_json(OLD), 'after', to_json(NEW))::text, gen_random_uuid()::text);
        RETURN NULL;
    END IF;
    -- A change of the key ends one order and begins another.
    IF TG_OP IN ('DELETE', 'UPDATE') THEN
        INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
        VALUES ('Order', OLD.id::text, 'OrderDeleted', json_build_object('before', to_json(OLD))::text,
            gen_random_uuid()::text);
    END IF;
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key)
        VALUES ('Order', NEW.id::text, 'OrderInserted', json_build_object('after', to_json(NEW))::text,
            gen_random_uuid()::text);
    END IF;
    RETURN NULL;
END $$;

-- Else anybody could put a trigger with it on a table of his own.
REVOKE ALL ON FUNCTION orders_to_outbox() FROM PUBLIC;

CREATE TRIGGER orders_to_outbox AFTER INSERT OR UPDATE OR DELETE ON orders
FOR EACH ROW EXECUTE FUNCTION orders_to_outbox();
