package source

import (
	"fmt"

	"github.com/rowrelay/rowrelay/poller"
)

// dialectFor returns the dialect of an engine.
func dialectFor(engine string) (dialect, error) {
	switch engine {
	case enginePostgres:
		return postgres{}, nil
	case engineSQLite:
		return sqliteDialect{}, nil
	case engineSQLServer:
		return sqlServer{}, nil
	case engineMySQL:
		return mySQL{}, nil
	default:
		return nil, fmt.Errorf("%w: no dialect for engine %q", poller.ErrConfig, engine)
	}
}
