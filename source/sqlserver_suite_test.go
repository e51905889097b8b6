package source_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/sourcetest"
)

// TestSQLServer runs where ROWRELAY_TEST_SQLSERVER names a server; everywhere else golden files pin the statements.
func TestSQLServer(t *testing.T) {
	t.Parallel()
	url := testenv.SQLServer(t)
	sourcetest.Run(t, sourcetest.Engine{
		Name: "sqlserver", URL: url, DB: testenv.Open(t, "sqlserver", url), Network: true,
		Quote:  func(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" },
		BigInt: "bigint", Text: "varchar(100)", Bool: "bit", DateTime: "datetime2(7)", True: "1", False: "0",
		Boundaries: []sourcetest.Boundary{
			{Type: "tinyint", Literals: []string{"0", "1", "255"}},
			{Type: "int", Literals: []string{"-2147483648", "0", "2147483647"}},
			{Type: "bigint", Literals: []string{"-9223372036854775808", "-9007199254740993", "-9007199254740992", "0",
				"9007199254740992", "9007199254740993", "9223372036854775807"}},
			{Type: "decimal(38,10)", Literals: []string{"-1.0000000001", "-1", "0", "0.1",
				"1234567890123456789012345678.0000000001", "1234567890123456789012345678.0000000002"}},
			{Type: "money", Literals: []string{"-922337203685477.5808", "0", "0.0001", "922337203685477.5806",
				"922337203685477.5807"}},
			{Type: "date", Literals: []string{"'0001-01-01'", "'2026-04-06'", "'2026-04-07'", "'9999-12-31'"}},
			{Type: "datetime2(7)", Literals: []string{"'0001-01-01'", "'2026-04-07T01:23:45.9999999'", "'2026-04-07T01:23:46'",
				"'2026-04-07T01:23:46.0000001'", "'9999-12-31T23:59:59.9999999'"}},
			{Type: "datetime2(3)", Literals: []string{"'2026-04-07T01:23:45.122'", "'2026-04-07T01:23:45.123'",
				"'2026-04-07T01:23:45.124'"}},
			{Type: "datetime", Literals: []string{"'2026-04-07T01:23:45.183'", "'2026-04-07T01:23:45.187'",
				"'2026-04-07T01:23:45.190'", "'2026-04-07T01:23:45.193'", "'2026-04-07T01:23:45.997'"}},
			{Type: "smalldatetime", Literals: []string{"'2026-04-07T01:23:00'", "'2026-04-07T01:24:00'"}},
			{Type: "datetimeoffset(7)", Literals: []string{"'2026-04-07T03:23:45.9999999+02:00'", "'2026-04-07T01:23:46Z'",
				"'2026-04-06T23:23:46.0000001-02:00'"}},
			{Type: "datetimeoffset(0)", Literals: []string{"'2026-04-07T03:23:45+02:00'", "'2026-04-07T01:23:46Z'"}},
		},
	})
}
