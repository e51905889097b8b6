package mysql

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/rowrelay/rowrelay/engine"
)

type refusing struct {
	driver.Connector
	err error
}

func (r refusing) Connect(context.Context) (driver.Conn, error) { return nil, r.err }

// TestEncryptedOnly: a server that takes no plain connections, which to this machine are the default, is no outage that
// ends: the fault names the parameter. The answer is that of MySQL 8.0.33.
func TestEncryptedOnly(t *testing.T) {
	c, err := Parse("mysql://u:p@127.0.0.1/d")
	if err != nil {
		t.Fatal(err)
	}
	plain, ok := c.Connectors.Reading.(plainConnector)
	if !ok {
		t.Fatalf("%T", c.Connectors.Reading)
	}
	plain.Connector = refusing{err: &mysql.MySQLError{Number: 3159, SQLState: [5]byte{'H', 'Y', '0', '0', '0'},
		Message: "Connections using insecure transport are prohibited while --require_secure_transport=ON."}}
	_, err = plain.Connect(t.Context())
	if err == nil || !strings.Contains(err.Error(), "write tls=true") || (Dialect{}).Classify(err) != engine.FaultLogin {
		t.Errorf("%v", err)
	}
}
