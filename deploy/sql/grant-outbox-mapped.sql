-- What source__mode=outbox needs on a table of another framework (source__map__…): the table as it is, the claims, and the claims'
-- side table, which remembers attempts.
--
--   sqlcmd … -v identity=id-func-shop-relay schema=dbo table=OutboxMessages claims=rowrelay_claims -i deploy/sql/grant-outbox-mapped.sql
--
-- UPDATE may be narrowed to the columns that the mapping names for published, published_at, state and attempts. DELETE is for
-- source__map__on_published=delete and for the clean-up: without both leave it out.
GRANT SELECT, UPDATE, DELETE ON OBJECT::[$(schema)].[$(table)] TO [$(identity)];
GRANT SELECT, INSERT, UPDATE, DELETE ON OBJECT::[$(schema)].[$(claims)] TO [$(identity)];
GRANT SELECT, INSERT, UPDATE, DELETE ON OBJECT::[$(schema)].[$(claims)_events] TO [$(identity)];
