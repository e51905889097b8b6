-- The shop of deploy/compose.laptop.yaml: a table, and a login that may do nothing yet (deploy/sql/grant-cursor.sql follows).
IF DB_ID(N'shop') IS NULL
    CREATE DATABASE shop;
GO
ALTER DATABASE shop SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE;
GO
IF SUSER_ID(N'rowrelay') IS NULL
    CREATE LOGIN rowrelay WITH PASSWORD = '$(password)';
GO
USE shop;
GO
IF DATABASE_PRINCIPAL_ID(N'rowrelay') IS NULL
    CREATE USER rowrelay FOR LOGIN rowrelay;
IF OBJECT_ID(N'dbo.orders') IS NULL
    CREATE TABLE dbo.orders (
        id bigint IDENTITY(1, 1) NOT NULL PRIMARY KEY,
        customer nvarchar(40) NOT NULL,
        total decimal(19, 4) NOT NULL,
        written_at datetime2(7) NOT NULL DEFAULT SYSUTCDATETIME(),
        row_version rowversion NOT NULL,
        INDEX orders_by_version (row_version, id)
    );
GO
