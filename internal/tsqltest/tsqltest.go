// Package tsqltest parses T-SQL for tests: no SQL Server runs where most of them do.
package tsqltest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sqlc-dev/teesql/parser"
)

// Count ends a statement that says how many rows it changed.
const Count = ";\nSET @rows = @@ROWCOUNT"

// exact is how the statements of outboxes compare text.
const exact = " COLLATE Latin1_General_100_BIN2"

// One checks that text is one statement, of the kind that its first word says.
func One(t *testing.T, text string) {
	t.Helper()
	word, _, _ := strings.Cut(text, " ")
	Is(t, text, map[string]string{"SELECT": "SelectStatement", "INSERT": "InsertStatement", "UPDATE": "UpdateStatement",
		"DELETE": "DeleteStatement", "IF": "IfStatement"}[word])
}

// Is parses text and checks that it holds exactly the statements of these types, and the count of what they changed
// where it ends with that: a parser that takes garbage for a second statement would otherwise pass it.
func Is(t *testing.T, text string, types ...string) {
	t.Helper()
	// The parser does not know COLLATE inside of CAST and EXISTS, which Microsoft's grammar allows after any expression.
	parsed := strings.ReplaceAll(text, " COLLATE Latin1_General_CI_AS AS ", " AS ")
	parsed = strings.ReplaceAll(parsed, exact, "")
	script, err := parser.Parse(t.Context(), strings.NewReader(parsed))
	if err != nil {
		t.Fatalf("not T-SQL: %v\n%s", err, text)
	}
	var got []string
	for _, batch := range script.Batches {
		for _, s := range batch.Statements {
			got = append(got, reflect.TypeOf(s).Elem().Name())
		}
	}
	if strings.HasSuffix(text, Count) {
		types = append(slices.Clip(types), "SetVariableStatement")
	}
	if !slices.Equal(got, types) {
		t.Errorf("got the statements %v, want %v:\n%s", got, types, text)
	}
}
