package leases

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver/tsql"
)

// New is the scheme of the Azure SQL trigger binding: az_func.GlobalState has a row for each function and table,
// and a leases table a row for each key that was taken, with the version that was taken last. A lease without an expiry
// is processed.
//
// What the binding lacks stands in tables of our own, beside its own: whose a lease is (a token that grows), what
// failed, and whether the row was inserted since its last delivery. The binding knows nothing of them, and goes on from
// its own tables.
//
// All transactions are under one application lock, which the binding's take as well. So none of them needs more than
// READ COMMITTED: the versions of a batch are read first, its rows by a later statement. What is written in between
// comes with a new version, again. Times are UTC; the binding writes the server's local time, so that leases which are
// not ours are held against that.
//
// hasNumber tells of an error of the server whether it is of a number; text is a value of the type nvarchar(max).
func New(hasNumber func(err error, number int32) bool, text engine.Value) *engine.Leasing {
	ours := engine.Leasing{
		Lookup: leaseKey, Faults: leaseFaults, Make: makeLeases,
		Reserved: []string{"_az_func_ChangeVersion", "_az_func_AttemptCount", "_az_func_LeaseExpirationTime"},
		Before:   takeLeases, After: tellTaken, Rows: leasedRows, Renew: renewLeases, Settle: settleLeases,
		Show: showLeases, Reset: resetLeases, Dead: deadRows,
		IsMissing: func(err error) bool { return hasNumber(err, 208) },
		IsLocked:  func(err error) bool { return hasNumber(err, lockNotFree) },
	}
	theirs := ours
	theirs.Before, theirs.After, theirs.Rows = takeAsBinding, tellAsBinding, rowsAsBinding
	theirs.Renew, theirs.Settle, theirs.Show = renewAsBinding, settleAsBinding, showAsBinding
	theirs.Key = engine.Column{Name: engine.LeaseKey, Type: "nvarchar", Value: text}
	ours.Binding = &theirs
	return &ours
}

// takeLeases takes a batch. A change is taken where its version was not processed and nobody holds it, or where the
// lease on it has lapsed; a row that failed only when its time has come, or when it was written again: then its
// attempts begin anew.
//
// While somebody else holds leases here, the binding is running: nothing is taken.
func takeLeases(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	return readCommitted + `DECLARE @got int = 0, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(), @valid bigint, @from bigint, @to bigint,
	@looked bit = 0, @taken int = 0, @foreign int = 0, @until datetime2(7), @now datetime2(7), @local datetime2(7), @end datetime2(7);
DECLARE @page TABLE (` + t.declared() + `rr_version bigint NOT NULL, rr_created bigint NOT NULL, rr_since bigint NOT NULL,
	rr_place int NOT NULL, rr_context varbinary(128) NULL, PRIMARY KEY (` + t.names("") + `));
IF @head > @read OR EXISTS (SELECT 1 FROM ` + t.leases() + ` AS l WHERE l.` + leaseExpires + ` <= SYSUTCDATETIME()
	AND NOT EXISTS (SELECT 1 FROM ` + t.own() + ` AS o WHERE ` + t.on("l", "o") + ` AND o.` + ownAgain + ` > SYSUTCDATETIME()))
BEGIN
` + t.lock() + `SELECT @looked = 1, @head = CHANGE_TRACKING_CURRENT_VERSION(), @valid = ` + tsql.ValidFrom(t.Changes) + `,
	@now = SYSUTCDATETIME(), @local = SYSDATETIME(), @end = DATEADD(millisecond, @ttl, SYSUTCDATETIME());
` + t.from() + `SELECT @foreign = COUNT(*), @until = MAX(l.` + leaseExpires + `) FROM ` + t.leases() + ` AS l
WHERE l.` + leaseExpires + ` > @local AND NOT EXISTS (SELECT 1 FROM ` + t.own() + ` AS o WHERE ` + t.on("l", "o") + `
	AND o.` + ownExpires + ` = l.` + leaseExpires + `);
IF @foreign = 0 AND @from >= @valid AND @from <= @head
BEGIN
INSERT INTO @page (` + t.names("") + `, rr_version, rr_created, rr_since, rr_place, rr_context)
SELECT TOP (@rows) ` + t.names("c.") + `, c.SYS_CHANGE_VERSION,
	CASE WHEN c.SYS_CHANGE_CREATION_VERSION > s.since THEN c.SYS_CHANGE_VERSION ELSE 0 END, s.since,
	ROW_NUMBER() OVER (ORDER BY c.SYS_CHANGE_VERSION, ` + t.names("c.") + `), c.SYS_CHANGE_CONTEXT
` + t.changes() + `LEFT JOIN ` + t.own() + ` AS o ON ` + t.on("o", "c") + `
CROSS APPLY (SELECT CASE WHEN l.` + leaseVersion + ` IS NOT NULL AND l.` + leaseExpires + ` IS NULL THEN l.` + leaseVersion + `
	ELSE COALESCE(o.` + ownSince + `, @from) END AS since) AS s
WHERE (l.` + leaseVersion + ` IS NULL OR (l.` + leaseExpires + ` IS NULL AND l.` + leaseVersion + ` < c.SYS_CHANGE_VERSION)
	OR l.` + leaseExpires + ` <= CASE WHEN o.` + ownExpires + ` = l.` + leaseExpires + ` THEN @now ELSE @local END)
	AND (o.` + ownAgain + ` IS NULL OR o.` + ownAgain + ` <= @now OR o.` + ownVersion + ` < c.SYS_CHANGE_VERSION)
ORDER BY c.SYS_CHANGE_VERSION, ` + t.names("c.") + `;
SET @taken = @@ROWCOUNT;
IF @taken > 0
BEGIN
IF @token = 0
	UPDATE ` + tokens + ` SET @token = Token = Token + 1 WHERE ` + t.function("") + `;
UPDATE l SET ` + leaseVersion + ` = p.rr_version, ` + leaseCount + ` = 0, ` + leaseExpires + ` = @end
FROM ` + t.leases() + ` AS l JOIN @page AS p ON ` + t.on("l", "p") + `;
INSERT INTO ` + t.leases() + ` (` + t.names("") + `, ` + leaseVersion + `, ` + leaseCount + `, ` + leaseExpires + `)
SELECT ` + t.names("p.") + `, p.rr_version, 0, @end FROM @page AS p
WHERE NOT EXISTS (SELECT 1 FROM ` + t.leases() + ` AS l WHERE ` + t.on("l", "p") + `);
UPDATE o SET ` + ownAttempts + ` = CASE WHEN o.` + ownVersion + ` < p.rr_version THEN 0 ELSE o.` + ownAttempts + ` END,
	` + ownVersion + ` = p.rr_version, ` + ownCreated + ` = p.rr_created, ` + ownSince + ` = p.rr_since, ` + ownToken + ` = @token,
	` + ownBatch + ` = @batch, ` + ownPlace + ` = p.rr_place, ` + ownExpires + ` = @end, ` + ownAgain + ` = NULL, ` + ownDead + ` = 0
FROM ` + t.own() + ` AS o JOIN @page AS p ON ` + t.on("o", "p") + `;
INSERT INTO ` + t.own() + ` (` + t.names("") + `, ` + ownVersion + `, ` + ownCreated + `, ` + ownSince + `, ` + ownToken + `,
	` + ownBatch + `, ` + ownPlace + `, ` + ownExpires + `, ` + ownAttempts + `, ` + ownDead + `)
SELECT ` + t.names("p.") + `, p.rr_version, p.rr_created, p.rr_since, @token, @batch, p.rr_place, @end, 0, 0 FROM @page AS p
WHERE NOT EXISTS (SELECT 1 FROM ` + t.own() + ` AS o WHERE ` + t.on("o", "p") + `);
END
ELSE
BEGIN
` + t.advance() + `END
END
END
`
}

// advance moves the function's state to before the first change that is not processed, and removes what is needed no
// more. A lease that is held stays, whatever its version: its row may have been written again.
func (t leaseTexts) advance() string {
	processed := ` WHERE l.` + leaseVersion + ` <= @to AND l.` + leaseExpires + ` IS NULL`
	return `SELECT @to = MIN(c.SYS_CHANGE_VERSION) - 1 ` + t.changes() + `WHERE l.` + leaseVersion + ` IS NULL OR l.` + leaseVersion + ` < c.SYS_CHANGE_VERSION OR l.` + leaseExpires + ` IS NOT NULL;
SET @to = CASE WHEN @to < @head THEN @to ELSE @head END;
IF @to > @from
BEGIN
` + t.move("@to") + `DELETE o FROM ` + t.own() + ` AS o JOIN ` + t.leases() + ` AS l ON ` + t.on("l", "o") + processed + ` AND o.` + ownDead + ` = 0;
DELETE l FROM ` + t.leases() + ` AS l` + processed + `;
SET @from = @to;
END
`
}

// leasedRows are the rows of the batch, where the changes of BuiltIn stand. Whether a row is there, the table says.
func leasedRows(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	return `(SELECT ` + t.names("o.") + `, o.` + ownVersion + `, o.` + ownCreated + `, 1 AS ` + tsql.Quote(engine.ChangeGone) + `, o.` +
		ownPlace + `, o.` + ownAttempts + written + `
		FROM ` + t.own() + ` AS o LEFT JOIN @page AS p ON ` + t.on("o", "p") + ` WHERE o.` + ownToken + ` = @token AND o.` + ownBatch + ` = @batch)`
}

func tellTaken(*engine.LeaseTables) string {
	return ";\n" + leaseEnd(`@head AS Head, COALESCE(@from, 0) AS [From], COALESCE(@valid, 0) AS Valid, @token AS Token, @looked AS Looked,
	CAST(CASE WHEN @looked = 0 OR @from IS NOT NULL THEN 1 ELSE 0 END AS bit) AS Known,
	@foreign AS [Foreign], CONVERT(nvarchar(33), @until, 126) AS Until, @taken AS Held`)
}

// renewLeases extends what is held; what has expired may be another's by now.
func renewLeases(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	return t.begin() + `DECLARE @held int, @now datetime2(7) = SYSUTCDATETIME();
DECLARE @end datetime2(7) = DATEADD(millisecond, @ttl, @now);
UPDATE l SET ` + leaseExpires + ` = @end FROM ` + t.leases() + ` AS l JOIN ` + t.own() + ` AS o ON ` + t.on("l", "o") + `
WHERE o.` + ownToken + ` = @token AND o.` + ownExpires + ` = l.` + leaseExpires + ` AND o.` + ownExpires + ` > @now;
SET @held = @@ROWCOUNT;
UPDATE o SET ` + ownExpires + ` = @end FROM ` + t.own() + ` AS o
WHERE o.` + ownToken + ` = @token AND o.` + ownExpires + ` > @now;
` + leaseEnd("@held AS Held")
}

// settleLeases is refused as a whole where one of the leases is not held any more: Held is below Asked then.
func settleLeases(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	marked := ` AS o JOIN @list AS m ON o.` + ownToken + ` = @token AND o.` + ownBatch + ` = m.b AND o.` + ownPlace + ` = m.p`
	return t.begin() + `DECLARE @held int, @asked int, @now datetime2(7) = SYSUTCDATETIME(), @from bigint, @to bigint,
	@head bigint = CHANGE_TRACKING_CURRENT_VERSION();
DECLARE @list TABLE (b int NOT NULL, p int NOT NULL, d bit NOT NULL, x bit NOT NULL, a int NOT NULL, w bigint NOT NULL,
	r nvarchar(1000) NULL, PRIMARY KEY (b, p));
INSERT INTO @list (b, p, d, x, a, w, r) SELECT j.b, j.p, j.d, j.x, j.a, j.w, j.r
FROM OPENJSON(@marks) WITH (b int, p int, d bit, x bit, a int, w bigint, r nvarchar(1000)) AS j;
SET @asked = @@ROWCOUNT;
SELECT @held = COUNT(*) FROM ` + t.own() + marked + `
JOIN ` + t.leases() + ` AS l ON ` + t.on("l", "o") + ` AND l.` + leaseExpires + ` = o.` + ownExpires + `
WHERE o.` + ownExpires + ` > @now;
IF @held = @asked
BEGIN
UPDATE l SET ` + leaseCount + ` = 0, ` + leaseExpires + ` = CASE WHEN m.d = 1 THEN NULL ELSE @now END
FROM ` + t.leases() + ` AS l JOIN ` + t.own() + ` AS o ON ` + t.on("l", "o") + `
JOIN @list AS m ON o.` + ownToken + ` = @token AND o.` + ownBatch + ` = m.b AND o.` + ownPlace + ` = m.p;
UPDATE o SET ` + ownToken + ` = 0, ` + ownExpires + ` = CASE WHEN m.d = 1 THEN NULL ELSE @now END, ` + ownAttempts + ` = m.a,
	` + ownAgain + ` = CASE WHEN m.w > 0 THEN DATEADD(millisecond, m.w, @now) END, ` + ownReason + ` = m.r, ` + ownDead + ` = m.x
FROM ` + t.own() + marked + `;
` + t.from() + `IF @from >= ` + tsql.ValidFrom(t.Changes) + `
BEGIN
` + t.advance() + `END
END
` + leaseEnd("@held AS Held, @asked AS Asked")
}

// showLeases counts without the lock: it changes nothing.
func showLeases(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	count := func(where string) string {
		return "(SELECT COUNT(*) FROM " + t.own() + " AS o WHERE " + where + ")"
	}
	return readCommitted + `DECLARE @from bigint, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(), @valid bigint = ` + tsql.ValidFrom(t.Changes) + `,
	@waiting bigint = 0;
` + t.from() + `IF @from >= @valid
	SELECT @waiting = COUNT_BIG(*) FROM CHANGETABLE(CHANGES ` + t.Changes.Of + `, @from) AS c
	LEFT JOIN ` + t.leases() + ` AS l ON ` + t.on("l", "c") + `
	WHERE l.` + leaseVersion + ` IS NULL OR l.` + leaseVersion + ` < c.SYS_CHANGE_VERSION OR l.` + leaseExpires + ` IS NOT NULL;
` + leaseEnd(`@head AS Head, COALESCE(@from, 0) AS [From], COALESCE(@valid, 0) AS Valid, @waiting AS Waiting,
	CAST(CASE WHEN @from IS NULL THEN 0 ELSE 1 END AS bit) AS Known,
	`+count("o."+ownExpires+" > SYSUTCDATETIME()")+` AS Leased, `+count("o."+ownAgain+" IS NOT NULL")+` AS Parked,
	`+count("o."+ownDead+" = 1")+` AS Gone,
	(SELECT COUNT(*) FROM `+t.leases()+` AS l WHERE l.`+leaseExpires+` > SYSDATETIME() AND NOT EXISTS (SELECT 1 FROM `+t.own()+
		` AS o WHERE `+t.on("l", "o")+` AND o.`+ownExpires+` = l.`+leaseExpires+`)) AS [Foreign],
	(SELECT CONVERT(nvarchar(33), MAX(l.`+leaseExpires+`), 126) FROM `+t.leases()+` AS l) AS Until`)
}

// resetLeases is refused while leases are held: Held counts those.
func resetLeases(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	return t.begin() + `DECLARE @held int, @from bigint, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(),
	@valid bigint = ` + tsql.ValidFrom(t.Changes) + `;
SELECT @held = COUNT(*) FROM ` + t.leases() + ` AS l LEFT JOIN ` + t.own() + ` AS o ON ` + t.on("l", "o") + `
	AND o.` + ownExpires + ` = l.` + leaseExpires + `
WHERE l.` + leaseExpires + ` > CASE WHEN o.` + ownExpires + ` IS NULL THEN SYSDATETIME() ELSE SYSUTCDATETIME() END;
SET @from = CASE @to WHEN -1 THEN @valid WHEN -2 THEN @head ELSE @to END;
IF @held = 0 AND @from >= @valid AND @from <= @head
BEGIN
DELETE FROM ` + t.leases() + `;
DELETE FROM ` + t.own() + ` WHERE ` + ownDead + ` = 0;
` + t.move("@from") + `END
` + leaseEnd("@held AS Held, @from AS [From], @valid AS Valid, @head AS Head, CAST(1 AS bit) AS Known")
}

// deadRows shows dead letters. Their keys are for people: "tenant=a, id=7".
func deadRows(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	var key []string
	for _, name := range t.Changes.Key {
		key = append(key, tsql.Literal(name+"=")+", o."+tsql.Quote(name))
	}
	return `SELECT TOP (100) CONCAT(` + strings.Join(key, ", N', ', ") + `, N''), o.` + ownVersion + `, o.` + ownAttempts +
		`, COALESCE(o.` + ownReason + `, N'')
FROM ` + t.own() + ` AS o WHERE o.` + ownDead + ` = 1 ORDER BY o.` + ownVersion
}
