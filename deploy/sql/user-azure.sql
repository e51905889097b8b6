-- The database user of the app's identity, on Azure SQL Database and Azure SQL Managed Instance. Run it in the application's
-- database, signed in with Microsoft Entra ID as an administrator of the server:
--
--   sqlcmd -G -S SERVER.database.windows.net -d DATABASE -v identity=id-func-shop-relay -i deploy/sql/user-azure.sql
--
-- The name is that of the managed identity (output identityName). The server asks Microsoft Entra ID for it; where the server's
-- own identity may not read the directory, write WITH SID = 0x…, TYPE = E instead of FROM EXTERNAL PROVIDER, with the
-- identity's client id as 16 bytes (SELECT CAST(CAST('CLIENT-ID' AS uniqueidentifier) AS varbinary(16))).
IF DATABASE_PRINCIPAL_ID(N'$(identity)') IS NULL
    CREATE USER [$(identity)] FROM EXTERNAL PROVIDER;
