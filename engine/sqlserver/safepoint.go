package sqlserver

// watermarkSQL reads MIN_ACTIVE_ROWVERSION() into a variable before the page, and hands it out with the last rowversion
// given (@@DBTS), and whether the database can be written.
const watermarkSQL = `DECLARE @safe binary(8) = MIN_ACTIVE_ROWVERSION();
SET @watermark = CAST(CAST(@safe AS bigint) AS nvarchar(20)) ` +
	`+ N' ' + CAST(CAST(@@DBTS AS bigint) AS nvarchar(20)) + N' '
	+ CONVERT(nvarchar(60), DATABASEPROPERTYEX(DB_NAME(), N'Updateability'));
`
