package source_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/sourcetest"
)

func TestPostgres(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	sourcetest.Run(t, sourcetest.Engine{
		Name: "postgres", URL: url, DB: testenv.Open(t, "pgx", url), Network: true,
		Quote:  func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` },
		BigInt: "bigint", Text: "varchar(100)", Bool: "boolean", DateTime: "timestamp", True: "true", False: "false",
		Boundaries: []sourcetest.Boundary{
			{Type: "smallint", Literals: []string{"-32768", "-1", "0", "1", "32767"}},
			{Type: "integer", Literals: []string{"-2147483648", "0", "2147483647"}},
			{Type: "bigint", Literals: []string{"-9223372036854775808", "-9007199254740993", "-9007199254740992",
				"9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775807"}},
			{Type: "numeric", Literals: []string{"-1e30", "0.1", "0.10000000000000000000000000000000000001",
				"123456789012345678901234567890", "123456789012345678901234567890.1"}},
			{Type: "numeric(12,3)", Literals: []string{"-0.001", "0", "0.001", "999999999.998", "999999999.999"}},
			{Type: "money", Literals: []string{"'-0.01'", "'0.00'", "'90071992547409.91'", "'90071992547409.92'"}},
			{Type: "date", Literals: []string{"'-infinity'", "'0044-03-15 BC'", "'0001-01-01'", "'2026-04-07'", "'2026-04-08'",
				"'9999-12-31'", "'10000-01-01'"}},
			{Type: "timestamp", Literals: []string{"'-infinity'", "'0044-03-15 01:02:03.000001 BC'", "'2026-04-07 01:23:45'",
				"'2026-04-07 01:23:45.123456'", "'2026-04-07 01:23:45.123457'", "'2026-04-07 01:23:45.12346'",
				"'9999-12-31 23:59:59.999999'", "'10000-01-01 00:00'"}},
			{Type: "timestamp(3)", Literals: []string{"'2026-04-07 01:23:45.122'", "'2026-04-07 01:23:45.123'"}},
			{Type: "timestamptz", Literals: []string{"'-infinity'", "'0044-03-15 01:02:03.000001+00 BC'",
				"'2026-03-29 02:59:59.999999+01'", "'2026-03-29 03:00:00+01'", "'2026-04-07 01:23:45.123456+00'",
				"'2026-04-07 01:23:45.123457+00'", "'10000-01-01 00:00+00'"}},
			{Type: "xid8", Literals: []string{"'1'", "'9007199254740993'", "'18446744073709551615'"}},
		},
	})
}
