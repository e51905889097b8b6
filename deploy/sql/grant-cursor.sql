-- What source__mode=cursor needs: to read the table, no more. Run it once for each table or view.
--
--   sqlcmd … -v identity=id-func-shop-relay schema=dbo table=orders -i deploy/sql/grant-cursor.sql
--
-- SELECT also shows the table's columns, indexes and identity in the catalog, which Rowrelay reads at the start of a connection.
-- For source__query grant it on each table that the query names, or on one view over them. Columns that source__columns leaves out
-- need no right: GRANT SELECT ON … (id, row_version, total) names the others.
GRANT SELECT ON OBJECT::[$(schema)].[$(table)] TO [$(identity)];
