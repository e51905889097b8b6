-- The same on SQL Server and Azure SQL Managed Instance, where it is a right of the login, given in master:
--
--   sqlcmd … -d master -v login=rowrelay -i deploy/sql/grant-transactions-server.sql
GRANT VIEW SERVER STATE TO [$(login)];
