package publisher

import "strings"

// MappedDDL returns the statements that create what a mapped table (source__map__…) needs beside it on an engine: the claims
// table, and the table of failed events. Each may be repeated. Nothing of the user's is touched. claims is named as
// source__claims_table; outbox as source__table, in whose schema they lie unless claims names its own. Errors wrap
// poller.ErrConfig.
func MappedDDL(engine, outbox, claims string) ([]string, error) {
	d, err := dialectFor(engine)
	if err != nil {
		return nil, err
	}
	table, err := parseName(d, "source__table", outbox)
	if err != nil {
		return nil, err
	}
	beside, err := parseName(d, "source__claims_table", claims)
	if err != nil {
		return nil, err
	}
	beside = table.beside(beside)
	return append(claimsDDL(d, table, beside), sideDDL(sideOf(beside))...), nil
}

// claimsDDL is what of a whole outbox' DDL creates the claims table.
func claimsDDL(d dialect, table, claims name) (list []string) {
	for _, statement := range d.ddl(table, claims) {
		if strings.Contains(statement, "CREATE TABLE") && strings.Contains(statement, claims.String()+" (") {
			list = append(list, statement)
		}
	}
	return list
}

// sideStates are what an event with an entry can be.
const sideStates = "'FAILED', 'DEAD LETTER', 'DISCARDED'"

func sideDDL(side name) []string {
	switch side.d.engine() {
	case "postgres":
		const exact = ` COLLATE "C"`
		return []string{
			`CREATE TABLE IF NOT EXISTS ` + side.String() + ` (
    outbox varchar(190) NOT NULL,
    event text` + exact + ` NOT NULL,
    aggregate_type text` + exact + ` NOT NULL,
    aggregate_id text` + exact + ` NOT NULL,
    position text` + exact + ` NOT NULL,
    state varchar(16) NOT NULL CHECK (state IN (` + sideStates + `)),
    attempts integer NOT NULL,
    next_attempt_at timestamptz NULL,
    last_error varchar(1000) NULL,
    PRIMARY KEY (outbox, event)
)`,
			`CREATE INDEX IF NOT EXISTS ` + side.indexName("aggregate") + ` ON ` + side.String() + ` (outbox, aggregate_type, aggregate_id)`,
		}
	case "mysql":
		return []string{
			`CREATE TABLE IF NOT EXISTS ` + side.String() + ` (
    outbox varchar(190) NOT NULL,
    event varchar(255) NOT NULL,
    aggregate_type varchar(255) NOT NULL,
    aggregate_id varchar(255) NOT NULL,
    position varchar(64) NOT NULL,
    state varchar(16) NOT NULL CHECK (state IN (` + sideStates + `)),
    attempts int NOT NULL,
    next_attempt_at datetime(6) NULL,
    last_error varchar(1000) NULL,
    PRIMARY KEY (outbox, event),
    INDEX aggregate (outbox, aggregate_type, aggregate_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
		}
	case "sqlserver":
		return []string{
			`IF OBJECT_ID(N'` + strings.ReplaceAll(side.String(), "'", "''") + `') IS NULL
CREATE TABLE ` + side.String() + ` (
    outbox nvarchar(190)` + sqlServerExact + ` NOT NULL,
    event nvarchar(255)` + sqlServerExact + ` NOT NULL,
    aggregate_type nvarchar(255)` + sqlServerExact + ` NOT NULL,
    aggregate_id nvarchar(255)` + sqlServerExact + ` NOT NULL,
    position nvarchar(64)` + sqlServerExact + ` NOT NULL,
    state varchar(16)` + sqlServerExact + ` NOT NULL CHECK (state IN (` + sideStates + `)),
    attempts int NOT NULL,
    next_attempt_at datetime2(6) NULL,
    last_error nvarchar(1000) NULL,
    PRIMARY KEY (outbox, event),
    INDEX aggregate (outbox, aggregate_type, aggregate_id)
)`,
		}
	default:
		return []string{
			`CREATE TABLE IF NOT EXISTS ` + side.String() + ` (
    outbox TEXT NOT NULL,
    event TEXT NOT NULL,
    aggregate_type TEXT NOT NULL,
    aggregate_id TEXT NOT NULL,
    position TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN (` + sideStates + `)),
    attempts INTEGER NOT NULL,
    next_attempt_at TEXT NULL,
    last_error TEXT NULL,
    PRIMARY KEY (outbox, event)
)`,
			`CREATE INDEX IF NOT EXISTS ` + side.indexName("aggregate") + ` ON ` + side.String() + ` (outbox, aggregate_type, aggregate_id)`,
		}
	}
}
