package source

import (
	"fmt"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

// TestSQLServerNotOpened: a database that cannot be opened may not be there at all, which the server does not tell
// apart.
func TestSQLServerNotOpened(t *testing.T) {
	c := &sessions{name: "sqlserver o", dialect: sqlserver.Dialect{}}
	for number, named := range map[int32]bool{4060: true, 40613: false} {
		err := fmt.Errorf("%w: %w", errConnect,
			mssql.Error{Number: 18456, All: []mssql.Error{{Number: number}, {Number: 18456}}})
		told := c.explain(t.Context(), c.dialect.Classify(err), err)
		if strings.Contains(told.Error(), "the database does not exist") != named ||
			!strings.Contains(told.Error(), "the next tick tries again") {
			t.Errorf("%d: %v", number, told)
		}
	}
}
