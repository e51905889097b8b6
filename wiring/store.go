package wiring

import (
	"fmt"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/filestore"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/sqlstore"
)

// openStore opens the app's state store.
func (a *App) openStore(s *config.State) error {
	store, closer, err := StoreOf(s)
	if err != nil {
		return err // an adapter's own nil would not be one in the interface
	}
	a.Store, a.closers = store, append(a.closers, closer)
	return nil
}

// StoreOf opens a state store. It does not connect yet.
func StoreOf(s *config.State) (store state.Store, closer func() error, err error) {
	closer = func() error { return nil }
	switch s.Kind {
	case "file":
		store, err = filestore.New(s.Path)
	case "memory":
		store = memstore.New()
	case "blob":
		store, err = openBlobs(s)
	case "table":
		store, err = openStorageTable(s)
	case "sql":
		table, failed := SQLStore(s)
		if failed != nil {
			return nil, nil, failed
		}
		store, closer = table, table.Close
	default:
		err = fmt.Errorf("%q is not blob, table, sql, file or memory", s.Kind)
	}
	return store, closer, err
}

// SQLStore opens a state store in a table of a database. It does not connect yet.
func SQLStore(s *config.State) (*sqlstore.Store, error) {
	c, err := inspect.ConnectionOf(&s.Database)
	if err != nil {
		return nil, err
	}
	return sqlstore.New(sqlstore.Config{Connection: c, Table: s.Table, Create: s.Create})
}
