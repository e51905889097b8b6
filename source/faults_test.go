package source

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/poller"
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

// TestANameWithoutAnAddressIsAFaultOfTheNetwork: DNS that is away for a moment is no fault of the settings, which only
// a person can mend.
func TestANameWithoutAnAddressIsAFaultOfTheNetwork(t *testing.T) {
	err := fmt.Errorf("connect: %w", &net.DNSError{Err: "no such host", Name: "db.example", IsNotFound: true})
	for _, name := range []string{"sqlserver", "postgres", "mysql"} {
		d, unknown := engines.Find(name)
		if unknown != nil {
			t.Fatal(unknown)
		}
		c := &sessions{name: name + " o", dialect: d}
		told := c.explain(t.Context(), engine.Classify(d, err), err)
		if errors.Is(told, poller.ErrConfig) || !strings.Contains(told.Error(), "the server's name has no address") {
			t.Errorf("%s: %v", name, told)
		}
	}
}
