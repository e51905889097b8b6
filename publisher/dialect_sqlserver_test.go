package publisher

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
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
	drawn    bool // the counter's row is there
	inserted bool
}

func (c *taking) Connect(context.Context) (sqldriver.Conn, error) { return c, nil }

func (c *taking) QueryContext(_ context.Context, text string, _ []sqldriver.NamedValue) (sqldriver.Rows, error) {
	verb, _, _ := strings.Cut(text, " ")
	c.sent = append(c.sent, verb)
	switch {
	case c.drawn && strings.Contains(text, "inserted.token"):
		return &statementtest.Answers{Rows: [][]sqldriver.Value{{int64(8)}}}, nil
	case verb == "INSERT" && !c.inserted:
		c.inserted = true
		return nil, mssql.Error{Number: sqlserver.DuplicateKey}
	case verb == "INSERT" || !c.inserted:
		return &statementtest.Answers{}, nil
	case strings.Contains(text, "inserted.token"):
		return &statementtest.Answers{Rows: [][]sqldriver.Value{{int64(8)}}}, nil
	default:
		return &statementtest.Answers{Rows: [][]sqldriver.Value{{"cleanup"}}}, nil
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
	t.Parallel()
	db := sql.OpenDB(&undone{statementtest.Recording{Recorder: &statementtest.Recorder{}}})
	t.Cleanup(func() { _ = db.Close() })
	if got, err := claimsOn(db).Take(t.Context(), "me", time.Minute, false, just()); err == nil {
		t.Errorf("drew %d", got.Token)
	}
}

// claimsOn are claims in such a server.
func claimsOn(db *sql.DB) *claims.Table {
	e := textsOf["sqlserver"]
	return claims.New(statement.NewDB(e.syntax, e.low, db, 0, func(error) bool { return false },
		func(_ string, err error) error { return err }), e.claims, claims.Place{Table: "[claims]", Outbox: "outbox"}, 4, nil)
}

// TestSQLServerClaimsMeet: where two insert one row, the one that comes second finds it with the next statement.
func TestSQLServerClaimsMeet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(t *claims.Table) error
		want string
	}{
		"draw": {want: "UPDATE INSERT UPDATE", do: func(table *claims.Table) error {
			return table.Pause(t.Context(), "ann")
		}},
		"take": {want: "UPDATE INSERT INSERT UPDATE", do: func(table *claims.Table) error {
			got, err := table.ClaimCleanup(t.Context(), "me", time.Minute)
			if err == nil && !got {
				err = errors.New("took nothing")
			}
			return err
		}},
	} {
		server := &taking{Recording: statementtest.Recording{Recorder: &statementtest.Recorder{}}, drawn: name == "take"}
		db := sql.OpenDB(server)
		if err := c.do(claimsOn(db)); err != nil {
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
