package source_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/sourcetest"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	db := testenv.Open(t, "sqlite",
		strings.TrimPrefix(url, "sqlite:")+"?_pragma=journal_mode(wal)&_pragma=busy_timeout(5000)")
	if err := db.Ping(); err != nil { // makes the file
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE made (id integer)"); err != nil {
		t.Fatal(err)
	}
	sourcetest.Run(t, sourcetest.Engine{
		Name: "sqlite", URL: url, DB: db,
		Quote:  func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` },
		BigInt: "bigint", Text: "varchar(100)", Bool: "boolean", DateTime: "datetime", True: "1", False: "0",
		Boundaries: []sourcetest.Boundary{
			{Type: "integer", Literals: []string{"-9223372036854775808", "-9007199254740993", "-9007199254740992",
				"9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775807"}},
			{Type: "numeric(12,3)", Literals: []string{"-0.001", "0", "0.001", "999999999.998", "999999999.999",
				"9007199254740991", "9007199254740993"}},
			{Type: "date", Literals: []string{"'2026-04-07'", "'2026-04-08'"}},
			{Type: "date", Literals: []string{"20260407", "20260408"}},
			{Type: "datetime", Literals: []string{"1775525025", "1775525025.5"}},
			{Type: "datetime", Literals: []string{"1775525025123456788", "1775525025123456789"}},
			{Type: "datetime", Literals: []string{"'2026-04-07 01:23:45'", "'2026-04-07 01:23:45.1'",
				"'2026-04-07 01:23:45.123456789'"}},
			{Type: "datetime", Literals: []string{"'2026-04-07T01:23:45'", "'2026-04-07T01:23:45.1'"}},
			{Type: "datetime", Literals: []string{"'2026-04-07T01:23:45.120Z'", "'2026-04-07T01:23:45.123Z'"}},
			{Type: "timestamp", Literals: []string{"'2026-04-07 01:23:45.120'", "'2026-04-07 01:23:45.123'",
				"'2026-04-07 01:23:45.123+00:00'"}},
			{Type: "timestamp(6)", Literals: []string{"'2026-04-07 01:23:45.120'", "'2026-04-07 01:23:45.123'"}},
		},
	})
}
