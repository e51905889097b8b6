package source

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
)

func TestSQLServerClassify(t *testing.T) {
	number := func(n int32) error { return fmt.Errorf("read a page: %w", mssql.Error{Number: n}) }
	for _, c := range []struct {
		err  error
		want fault
	}{
		{number(1205), faultTransient}, {number(3960), faultTransient}, {number(10928), faultTransient}, {number(10929), faultTransient},
		{number(40197), faultTransient}, {number(40501), faultTransient}, {number(40613), faultTransient}, {number(49918), faultTransient},
		{number(49919), faultTransient}, {number(49920), faultTransient}, {number(1222), faultLocked}, {number(-2), faultTimeout},
		{number(208), faultSchema}, {number(207), faultSchema}, {number(18456), faultLogin},
		{number(4060), faultTransient}, {number(921), faultTransient}, {number(922), faultTransient}, {number(926), faultTransient},
		{number(601), faultTransient}, {number(10936), faultTransient}, {number(40549), faultTransient}, {number(42109), faultTransient},
		{mssql.Error{Number: 18456, All: []mssql.Error{{Number: 4060}, {Number: 18456}}}, faultTransient}, // as a login shows it
		{mssql.Error{Number: 18456, All: []mssql.Error{{Number: 18456}}}, faultLogin},
		{number(3952), faultVersions}, {number(41332), faultVersions},
		{number(229), faultDenied}, {number(102), faultSyntax}, {number(2627), faultOther}, {number(50000), faultOther},
		{mssql.Error{Number: 596, Class: 21}, faultTransient}, {mssql.Error{Number: 596, Class: 16}, faultOther},
		{mssql.StreamError{InnerError: io.ErrUnexpectedEOF}, faultTransient}, {fmt.Errorf("x: %w", io.EOF), faultTransient},
		{errSchemaChanged, faultSchema}, {errors.New("x"), faultOther}, {driver.ErrBadConn, faultOther}, // the framework's own
	} {
		if got := (sqlServer{}).classify(c.err); got != c.want {
			t.Errorf("%v: got %d, want %d", c.err, got, c.want)
		}
	}
}

// TestSQLServerNotOpened: a database that cannot be opened may not be there at all, which the server does not tell apart.
func TestSQLServerNotOpened(t *testing.T) {
	c := &Cursor{cfg: Config{Table: "o"}, dialect: sqlServer{}}
	for number, named := range map[int32]bool{sqlServerNotOpened: true, 40613: false} {
		err := fmt.Errorf("%w: %w", errConnect, mssql.Error{Number: 18456, All: []mssql.Error{{Number: number}, {Number: 18456}}})
		told := c.explain(t.Context(), c.dialect.classify(err), err)
		if strings.Contains(told.Error(), "the database does not exist") != named || !strings.Contains(told.Error(), "the next tick tries again") {
			t.Errorf("%d: %v", number, told)
		}
	}
}
