package pool

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/poller"
)

// TestSQLServerNotOpened: a database that cannot be opened may not be there at all, which the server does not tell
// apart.
func TestSQLServerNotOpened(t *testing.T) {
	c := &Share{name: "sqlserver o", dialect: sqlserver.Dialect{}}
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
		c := &Share{name: name + " o", dialect: d}
		told := c.explain(t.Context(), engine.Classify(d, err), err)
		if errors.Is(told, poller.ErrConfig) || !strings.Contains(told.Error(), "the server's name has no address") {
			t.Errorf("%s: %v", name, told)
		}
	}
}

// TestSQLServerLocked: a wait for a lock is told as one, with what ends it, and is no reason for an index.
func TestSQLServerLocked(t *testing.T) {
	c := &Share{name: "sqlserver dbo.orders", timeout: 30 * time.Second, dialect: sqlserver.Dialect{}}
	err := fmt.Errorf("read a page: %w", mssql.Error{Number: 1222, Message: "Lock request time out period exceeded."})
	told := c.explain(t.Context(), c.classify(t.Context(), t.Context(), err), err)
	if says := told.Error(); errors.Is(told, poller.ErrConfig) || strings.Contains(says, "index") ||
		!strings.Contains(says, "locked for source__timeout (30s)") || !strings.Contains(says, "READ_COMMITTED_SNAPSHOT ON") {
		t.Error(says)
	}
}
