package leases

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver/tsql"
)

// This file shares leases exactly as the binding does (source__compat=binding), so that its instances and ours may work
// beside each other: an attempt counts when a row is taken, five are all that it has, whatever it became meanwhile; what
// holds a row is its lease alone, in the server's local time; the state moves to the second-highest version of a batch;
// and what is not retained any more is jumped over.
//
// One thing is added. What the binding says to nobody is told: how many versions were jumped over, and which rows have
// used their attempts up. In our own table stands of which of these people were told; nothing else is kept there. The
// state waits for that before it moves past such a row.

// bindingAttempts is how often the binding takes a version of a row, and all that come after it.
const bindingAttempts = 5

// numbered are the key's columns under names that FOR JSON and OPENJSON leave as they are.
func (t leaseTexts) numbered(alias string) string {
	parts := make([]string, len(t.Changes.Key))
	for i, name := range t.Changes.Key {
		parts[i] = alias + tsql.Quote(name) + " AS k" + strconv.Itoa(i)
	}
	return strings.Join(parts, ", ")
}

// marked reads @marks: as n the key's columns and rr_version, as j the members of LeaseMark.
func (t leaseTexts) marked() string {
	var columns strings.Builder
	for i, k := range t.Key {
		fmt.Fprintf(&columns, "%s %s '$.k%d', ", tsql.Quote(k.Name), k.Type, i)
	}
	return `OPENJSON(@marks) WITH (k nvarchar(max), d bit, x bit, a int, r nvarchar(1000)) AS j
CROSS APPLY OPENJSON(j.k) WITH (` + columns.String() + `rr_version bigint '$.v') AS n`
}

// spent says that a row has used its attempts up and that nobody was told of this version.
func (t leaseTexts) spent(version string) string {
	return `l.` + leaseCount + ` >= ` + strconv.Itoa(bindingAttempts) + ` AND NOT EXISTS (SELECT 1 FROM ` + t.own() + ` AS o
	WHERE ` + t.on("o", "l") + ` AND o.` + ownDead + ` = 1 AND o.` + ownVersion + ` >= ` + version + `)`
}

// takeAsBinding takes a batch. It looks for changes only if there are new ones, or a lease has lapsed of which that
// means something.
func takeAsBinding(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	left := ` < ` + strconv.Itoa(bindingAttempts)
	from := `FROM CHANGETABLE(CHANGES ` + t.Changes.Of + `, @from) AS c
`
	order := `ORDER BY c.SYS_CHANGE_VERSION, ` + t.names("c.")
	created := `CASE c.SYS_CHANGE_OPERATION WHEN N'I' THEN c.SYS_CHANGE_VERSION ELSE 0 END`
	return `SET NOCOUNT ON;
SET XACT_ABORT ON;
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
BEGIN TRANSACTION;
DECLARE @got int = 0, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(), @valid bigint, @from bigint, @missed bigint = 0,
	@looked bit = 0, @taken int = 0, @dropped int = 0, @now datetime2(7);
DECLARE @page TABLE (` + t.declared() + `rr_version bigint NOT NULL, rr_created bigint NOT NULL, rr_attempts int NOT NULL,
	rr_place int NOT NULL, rr_context varbinary(128) NULL, PRIMARY KEY (` + t.names("") + `));
IF @head > @read OR EXISTS (SELECT 1 FROM ` + t.leases() + ` AS l WHERE l.` + leaseExpires + ` < SYSDATETIME()
	AND (l.` + leaseCount + left + ` OR ` + t.spent("l."+leaseVersion) + `))
BEGIN
` + t.lock() + `SELECT @looked = 1, @head = CHANGE_TRACKING_CURRENT_VERSION(), @valid = ` + tsql.ValidFrom(t.Changes) + `, @now = SYSDATETIME();
` + t.from() + `IF @from < @valid
BEGIN
SET @missed = @valid - @from;
SET @from = @valid;
` + t.move("@from") + `END
IF @from IS NOT NULL
BEGIN
INSERT INTO @page (` + t.names("") + `, rr_version, rr_created, rr_attempts, rr_place, rr_context)
SELECT TOP (@rows) ` + t.names("c.") + `, c.SYS_CHANGE_VERSION, ` + created + `, COALESCE(l.` + leaseCount + `, 0) + 1,
	ROW_NUMBER() OVER (` + order + `), c.SYS_CHANGE_CONTEXT
` + from + `LEFT JOIN ` + t.leases() + ` AS l ON ` + t.on("l", "c") + `
WHERE ((l.` + leaseExpires + ` IS NULL AND (l.` + leaseVersion + ` IS NULL OR l.` + leaseVersion + ` < c.SYS_CHANGE_VERSION))
	OR l.` + leaseExpires + ` < @now) AND (l.` + leaseCount + ` IS NULL OR l.` + leaseCount + left + `)
` + order + `;
SET @taken = @@ROWCOUNT;
INSERT INTO @page (` + t.names("") + `, rr_version, rr_created, rr_attempts, rr_place, rr_context)
SELECT TOP (@rows) ` + t.names("c.") + `, c.SYS_CHANGE_VERSION, ` + created + `, -l.` + leaseCount + `,
	@taken + ROW_NUMBER() OVER (` + order + `), c.SYS_CHANGE_CONTEXT
` + from + `JOIN ` + t.leases() + ` AS l ON ` + t.on("l", "c") + `
WHERE l.` + leaseExpires + ` < @now AND ` + t.spent("c.SYS_CHANGE_VERSION") + `
` + order + `;
SET @dropped = @@ROWCOUNT;
UPDATE l SET ` + leaseVersion + ` = p.rr_version, ` + leaseCount + ` = p.rr_attempts, ` + leaseExpires + ` = DATEADD(millisecond, @ttl, @now)
FROM ` + t.leases() + ` AS l JOIN @page AS p ON ` + t.on("l", "p") + ` WHERE p.rr_attempts > 0;
INSERT INTO ` + t.leases() + ` (` + t.names("") + `, ` + leaseVersion + `, ` + leaseCount + `, ` + leaseExpires + `)
SELECT ` + t.names("p.") + `, p.rr_version, p.rr_attempts, DATEADD(millisecond, @ttl, @now) FROM @page AS p
WHERE p.rr_attempts > 0 AND NOT EXISTS (SELECT 1 FROM ` + t.leases() + ` AS l WHERE ` + t.on("l", "p") + `);
END
END
`
}

// rowsAsBinding are the rows of the batch, and after them those that have used their attempts up.
func rowsAsBinding(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	return `(SELECT ` + t.names("p.") + `, p.rr_version AS ` + ownVersion + `, p.rr_created AS ` + ownCreated + `, 1 AS ` +
		tsql.Quote(engine.ChangeGone) + `, p.rr_place AS ` + ownPlace + `, p.rr_attempts AS ` + ownAttempts + written + `,
		(SELECT ` + t.numbered("p.") + `, p.rr_version AS v FOR JSON PATH, WITHOUT_ARRAY_WRAPPER) AS ` + tsql.Quote(engine.LeaseKey) + `
		FROM @page AS p)`
}

func tellAsBinding(*engine.LeaseTables) string {
	return ";\n" + leaseEnd(`@head AS Head, COALESCE(@from, 0) AS [From], COALESCE(@valid, 0) AS Valid, @looked AS Looked,
	CAST(CASE WHEN @looked = 0 OR @from IS NOT NULL THEN 1 ELSE 0 END AS bit) AS Known,
	@missed AS Missed, @taken AS Held, @dropped AS Dropped`)
}

// renewAsBinding extends leases by their keys, whoever holds them by now.
func renewAsBinding(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	return t.begin() + `DECLARE @held int;
UPDATE l SET ` + leaseExpires + ` = DATEADD(millisecond, @ttl, SYSDATETIME())
FROM ` + t.leases() + ` AS l JOIN (SELECT ` + t.names("n.") + ` FROM ` + t.marked() + `) AS m ON ` + t.on("l", "m") + `;
SET @held = @@ROWCOUNT;
` + leaseEnd("@held AS Held")
}

// settleAsBinding releases leases by their keys, whoever holds them by now.
func settleAsBinding(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	return t.begin() + `DECLARE @asked int, @from bigint, @to bigint, @waiting int;
DECLARE @list TABLE (` + t.declared() + `rr_version bigint NOT NULL, rr_done bit NOT NULL, rr_dead bit NOT NULL, rr_attempts int NOT NULL,
	rr_reason nvarchar(1000) NULL, PRIMARY KEY (` + t.names("") + `));
INSERT INTO @list (` + t.names("") + `, rr_version, rr_done, rr_dead, rr_attempts, rr_reason)
SELECT ` + t.names("n.") + `, n.rr_version, j.d, j.x, j.a, j.r
FROM ` + t.marked() + `;
SET @asked = @@ROWCOUNT;
UPDATE l SET ` + leaseVersion + ` = m.rr_version, ` + leaseCount + ` = 0, ` + leaseExpires + ` = NULL
FROM ` + t.leases() + ` AS l JOIN @list AS m ON ` + t.on("l", "m") + ` WHERE m.rr_done = 1 AND l.` + leaseVersion + ` <= m.rr_version;
UPDATE o SET ` + ownVersion + ` = m.rr_version, ` + ownAttempts + ` = m.rr_attempts, ` + ownReason + ` = m.rr_reason, ` + ownDead + ` = 1, ` + ownToken + ` = 0,
	` + ownExpires + ` = NULL, ` + ownAgain + ` = NULL
FROM ` + t.own() + ` AS o JOIN @list AS m ON ` + t.on("o", "m") + ` WHERE m.rr_dead = 1;
INSERT INTO ` + t.own() + ` (` + t.names("") + `, ` + ownVersion + `, ` + ownCreated + `, ` + ownSince + `, ` + ownToken + `,
	` + ownBatch + `, ` + ownPlace + `, ` + ownAttempts + `, ` + ownReason + `, ` + ownDead + `)
SELECT ` + t.names("m.") + `, m.rr_version, 0, 0, 0, 0, 0, m.rr_attempts, m.rr_reason, 1 FROM @list AS m
WHERE m.rr_dead = 1 AND NOT EXISTS (SELECT 1 FROM ` + t.own() + ` AS o WHERE ` + t.on("o", "m") + `);
SELECT @to = MAX(m.rr_version) FROM @list AS m WHERE m.rr_done = 1 AND m.rr_version < (SELECT MAX(n.rr_version) FROM @list AS n WHERE n.rr_done = 1);
IF @to IS NULL
	SELECT @to = MAX(m.rr_version) FROM @list AS m WHERE m.rr_done = 1;
` + t.from() + `IF @to > @from
BEGIN
SELECT @waiting = COUNT(*) ` + t.changes() + `WHERE c.SYS_CHANGE_VERSION <= @to
	AND (l.` + leaseVersion + ` IS NULL OR l.` + leaseVersion + ` <> c.SYS_CHANGE_VERSION OR l.` + leaseExpires + ` IS NOT NULL)
	AND (l.` + leaseCount + ` IS NULL OR l.` + leaseCount + ` < ` + strconv.Itoa(bindingAttempts) + ` OR ` + t.spent("c.SYS_CHANGE_VERSION") + `);
IF @waiting = 0
BEGIN
` + t.move("@to") + `DELETE l FROM ` + t.leases() + ` AS l WHERE l.` + leaseVersion + ` <= @to;
END
END
` + leaseEnd("@asked AS Held, @asked AS Asked")
}

// showAsBinding counts as the binding's scaler does: what is held is none that waits.
func showAsBinding(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	count := func(where string) string {
		return "(SELECT COUNT(*) FROM " + t.leases() + " AS l WHERE " + where + ")"
	}
	left := ` < ` + strconv.Itoa(bindingAttempts)
	return readCommitted + `DECLARE @from bigint, @head bigint = CHANGE_TRACKING_CURRENT_VERSION(), @valid bigint = ` + tsql.ValidFrom(t.Changes) + `,
	@waiting bigint = 0;
` + t.from() + `IF @from IS NOT NULL
	SELECT @waiting = COUNT_BIG(*) FROM CHANGETABLE(CHANGES ` + t.Changes.Of + `, @from) AS c
	LEFT JOIN ` + t.leases() + ` AS l ON ` + t.on("l", "c") + `
	WHERE ((l.` + leaseExpires + ` IS NULL AND (l.` + leaseVersion + ` IS NULL OR l.` + leaseVersion + ` < c.SYS_CHANGE_VERSION))
		OR l.` + leaseExpires + ` < SYSDATETIME()) AND (l.` + leaseCount + ` IS NULL OR l.` + leaseCount + left + `);
` + leaseEnd(`@head AS Head, COALESCE(@from, 0) AS [From], COALESCE(@valid, 0) AS Valid, @waiting AS Waiting,
	CAST(CASE WHEN @from IS NULL THEN 0 ELSE 1 END AS bit) AS Known,
	`+count("l."+leaseExpires+" >= SYSDATETIME()")+` AS Leased,
	`+count("l."+leaseExpires+" < SYSDATETIME() AND l."+leaseCount+left)+` AS Parked,
	(SELECT COUNT(*) FROM `+t.own()+` AS o WHERE o.`+ownDead+` = 1) AS Gone`)
}
