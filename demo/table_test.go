package demo

import (
	"strings"
	"testing"

	"github.com/sqlc-dev/teesql/parser"
)

// No SQL Server may be at hand: its statements are at least parsed.
func TestSQLServerStatementsParse(t *testing.T) {
	s, err := newStatements("sqlserver")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{s.create, s.drop, s.top, s.insert, s.update, s.waiting, s.oldest, s.list} {
		if _, err := parser.Parse(t.Context(), strings.NewReader(statement)); err != nil {
			t.Errorf("%v in: %s", err, statement)
		}
	}
	if s.index != "" {
		t.Errorf("an index that is not checked: %s", s.index)
	}
}

func TestUnknownEngine(t *testing.T) {
	if _, err := newStatements("oracle"); err == nil {
		t.Error("no error")
	}
}
