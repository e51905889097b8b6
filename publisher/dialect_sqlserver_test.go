package publisher

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/engine/statement/statementtest"
)

// taking is a SQL Server whose claims table holds one claim of ours that somebody inserts at the same time as we do.
type taking struct {
	statementtest.Recording
	sent     []string
	inserted bool
}

func (c *taking) Connect(context.Context) (sqldriver.Conn, error) { return c, nil }

func (c *taking) QueryContext(_ context.Context, text string, _ []sqldriver.NamedValue) (sqldriver.Rows, error) {
	verb, _, _ := strings.Cut(text, " ")
	c.sent = append(c.sent, verb)
	switch {
	case verb == "INSERT" && !c.inserted:
		c.inserted = true
		return nil, mssql.Error{Number: sqlserver.DuplicateKey}
	case verb == "INSERT" || !c.inserted:
		return &statementtest.Answers{}, nil
	case strings.Contains(text, "inserted.token"):
		return &statementtest.Answers{Rows: [][]sqldriver.Value{{int64(8)}}}, nil
	default:
		return &statementtest.Answers{Rows: [][]sqldriver.Value{{"p1"}}}, nil
	}
}

// broken is a result whose statement fails after its row was sent: the change is rolled back.
type broken struct{ statementtest.Answers }

func (b *broken) Next(to []sqldriver.Value) error {
	err := b.Answers.Next(to)
	if errors.Is(err, io.EOF) {
		err = mssql.Error{Number: 50000, Message: "the transaction ended in the trigger"}
	}
	return err
}

// undone is a SQL Server that takes back what it has answered.
type undone struct{ statementtest.Recording }

func (c *undone) Connect(context.Context) (sqldriver.Conn, error) { return c, nil }

func (c *undone) QueryContext(context.Context, string, []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return &broken{statementtest.Answers{Rows: [][]sqldriver.Value{{int64(8)}}}}, nil
}

// TestSQLServerDrawIsReadToItsEnd: a token counts only once the statement that drew it has ended well.
func TestSQLServerDrawIsReadToItsEnd(t *testing.T) {
	db := sql.OpenDB(&undone{statementtest.Recording{Recorder: &statementtest.Recorder{}}})
	t.Cleanup(func() { _ = db.Close() })
	table, _ := recorded(t, "sqlserver")
	if token, err := table.claims.DrawIn(t.Context(), db); err == nil {
		t.Errorf("drew %d", token)
	}
}

func (c *taking) ExecContext(ctx context.Context, text string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	verb, _, _ := strings.Cut(text, " ")
	had := c.inserted
	if _, err := c.QueryContext(ctx, text, args); err != nil {
		return nil, err
	}
	if verb == "UPDATE" && !had {
		return sqldriver.RowsAffected(0), nil
	}
	return sqldriver.RowsAffected(1), nil
}

// TestSQLServerClaimsMeet: where two insert one row, the one that comes second finds it with the next statement.
func TestSQLServerClaimsMeet(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(q statement.Querier, t *claims.Table) error
		want string
	}{
		"draw": {want: "UPDATE INSERT UPDATE", do: func(q statement.Querier, table *claims.Table) error {
			token, err := table.DrawIn(t.Context(), q)
			if err == nil && token != 8 {
				err = fmt.Errorf("drew %d", token)
			}
			return err
		}},
		"take": {want: "INSERT INSERT UPDATE", do: func(q statement.Querier, table *claims.Table) error {
			got, err := table.TakeIn(t.Context(), q, claims.Claim{Owner: "me", Token: 7, TTL: time.Minute},
				claims.Named([]string{"p0", "p1"}), "")
			if err == nil && !slices.Equal(got, []string{"p1"}) {
				err = fmt.Errorf("took %v", got)
			}
			return err
		}},
		"put": {want: "UPDATE INSERT UPDATE", do: func(q statement.Querier, table *claims.Table) error {
			return table.PutIn(t.Context(), q, claims.Claim{}, claims.Shard{Name: "pause", Info: "ann"})
		}},
	} {
		server := &taking{Recording: statementtest.Recording{Recorder: &statementtest.Recorder{}}}
		db := sql.OpenDB(server)
		table, _ := recorded(t, "sqlserver")
		if err := c.do(db, table.claims); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(server.sent, " "); got != c.want {
			t.Errorf("%s: sent %s, want %s", name, got, c.want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
