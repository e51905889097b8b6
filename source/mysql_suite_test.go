package source_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/sourcetest"
)

func TestMySQL(t *testing.T) {
	t.Parallel()
	url := testenv.MySQL(t)
	sourcetest.Run(t, sourcetest.Engine{
		Name: "mysql", URL: url, DB: testenv.Open(t, "mysql", testenv.MySQLDSN(t, url)), Network: true,
		Quote:  func(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" },
		BigInt: "bigint", Text: "varchar(100)", Bool: "boolean", DateTime: "datetime(6)", True: "true", False: "false",
		Boundaries: []sourcetest.Boundary{
			{Type: "tinyint", Literals: []string{"-128", "-1", "0", "127"}},
			{Type: "bigint", Literals: []string{"-9223372036854775808", "-9007199254740993", "-9007199254740992", "0",
				"9007199254740992", "9007199254740993", "9223372036854775807"}},
			{Type: "bigint unsigned", Literals: []string{"0", "9223372036854775807", "9223372036854775808",
				"18446744073709551614", "18446744073709551615"}},
			{Type: "int unsigned zerofill", Literals: []string{"0", "5", "4294967295"}},
			{Type: "bit(64)", Literals: []string{"b'0'", "b'1'", "18446744073709551614", "18446744073709551615"}},
			{Type: "year", Literals: []string{"'0000'", "1901", "2026", "2155"}},
			{Type: "decimal(38,10)", Literals: []string{"-1.0000000001", "-1", "0", "0.1",
				"1234567890123456789012345678.0000000001", "1234567890123456789012345678.0000000002"}},
			{Type: "date", Literals: []string{"'1000-01-01'", "'2026-04-06'", "'2026-04-07'", "'9999-12-31'"}},
			{Type: "datetime(6)", Literals: []string{"'1000-01-01 00:00:00'", "'2026-04-07 01:23:45.999999'",
				"'2026-04-07 01:23:46'", "'2026-04-07 01:23:46.000001'", "'9999-12-31 23:59:59.999999'"}},
			{Type: "datetime(3)", Literals: []string{"'2026-04-07 01:23:45.122'", "'2026-04-07 01:23:45.123'",
				"'2026-04-07 01:23:45.124'"}},
			{Type: "datetime", Literals: []string{"'2026-04-07 01:23:45'", "'2026-04-07 01:23:46'"}},
			// UTC: the writer's session may be elsewhere, but it is the same zone for all of them.
			{Type: "timestamp(6)", Default: "DEFAULT '2000-01-01 00:00:00'",
				Literals: []string{"'1980-01-01 00:00:00.000001'", "'2026-04-07 01:23:45.999999'", "'2026-04-07 01:23:46'",
					"'2026-04-07 01:23:46.000001'"}},
			{Type: "timestamp", Default: "DEFAULT '2000-01-01 00:00:00'",
				Literals: []string{"'2026-04-07 01:23:45'", "'2026-04-07 01:23:46'"}},
		},
	})
}
