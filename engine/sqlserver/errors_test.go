package sqlserver

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
)

func TestSQLServerClassify(t *testing.T) {
	number := func(n int32) error { return fmt.Errorf("read a page: %w", mssql.Error{Number: n}) }
	for _, c := range []struct {
		err  error
		want engine.Fault
	}{
		{number(1205), engine.FaultTransient}, {number(3960), engine.FaultTransient}, {number(10928), engine.FaultTransient},
		{number(10929), engine.FaultTransient},
		{number(40197), engine.FaultTransient}, {number(40501), engine.FaultTransient},
		{number(40613), engine.FaultTransient}, {number(49918), engine.FaultTransient},
		{number(49919), engine.FaultTransient}, {number(49920), engine.FaultTransient}, {number(1222), engine.FaultLocked},
		{number(-2), engine.FaultTimeout},
		{number(208), engine.FaultSchema}, {number(207), engine.FaultSchema}, {number(18456), engine.FaultLogin},
		{number(4060), engine.FaultTransient}, {number(921), engine.FaultTransient}, {number(922), engine.FaultTransient},
		{number(926), engine.FaultTransient},
		{number(601), engine.FaultTransient}, {number(10936), engine.FaultTransient}, {number(40549), engine.FaultTransient},
		{number(42109), engine.FaultTransient},
		// as a login shows it
		{mssql.Error{Number: 18456, All: []mssql.Error{{Number: 4060}, {Number: 18456}}}, engine.FaultTransient},
		{mssql.Error{Number: 18456, All: []mssql.Error{{Number: 18456}}}, engine.FaultLogin},
		{number(3952), engine.FaultVersions}, {number(41332), engine.FaultVersions},
		{number(3906), engine.FaultReadOnly},
		{number(229), engine.FaultDenied}, {number(102), engine.FaultSyntax}, {number(2627), engine.FaultConstraint},
		{number(50000), engine.FaultOther}, {number(8152), engine.FaultConstraint},
		{mssql.Error{Number: 596, Class: 21}, engine.FaultTransient},
		{mssql.Error{Number: 596, Class: 16}, engine.FaultOther},
		{mssql.StreamError{InnerError: io.ErrUnexpectedEOF}, engine.FaultTransient},
		{fmt.Errorf("x: %w", io.EOF), engine.FaultTransient},
		// the framework's own
		{engine.ErrSchemaChanged, engine.FaultSchema}, {errors.New("x"), engine.FaultOther},
		{driver.ErrBadConn, engine.FaultOther},
	} {
		if got := (Dialect{}).Classify(c.err); got != c.want {
			t.Errorf("%v: got %d, want %d", c.err, got, c.want)
		}
	}
}
