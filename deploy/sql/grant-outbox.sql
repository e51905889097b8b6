-- What source__mode=outbox needs, on an outbox and claims that `rowrelay outbox init` made. Its statements are run by somebody who
-- may create tables; the app may not:
--
--   rowrelay outbox init orders > init.sql      (prints them)
--   sqlcmd … -v identity=id-func-shop-relay schema=dbo table=outbox claims=rowrelay_claims -i deploy/sql/grant-outbox.sql
--
-- The app reads events, marks them in five columns, and never writes one. DELETE is for the clean-up: with
-- source__cleanup_schedule=none leave it out.
GRANT SELECT ON OBJECT::[$(schema)].[$(table)] TO [$(identity)];
GRANT UPDATE ON OBJECT::[$(schema)].[$(table)] (state, retry_count, next_attempt_at, published_at, last_error) TO [$(identity)];
GRANT DELETE ON OBJECT::[$(schema)].[$(table)] TO [$(identity)];
GRANT SELECT, INSERT, UPDATE, DELETE ON OBJECT::[$(schema)].[$(claims)] TO [$(identity)];
