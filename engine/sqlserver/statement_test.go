package sqlserver

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
)

// counted is a server that has changed two rows, and a driver that counts others.
type counted struct {
	statement.Querier
	driver sql.Result
	text   string
}

func (c *counted) ExecContext(_ context.Context, text string, args ...any) (sql.Result, error) {
	c.text = text
	for _, a := range args {
		if named, ok := a.(sql.NamedArg); ok && named.Name == "rows" {
			*named.Value.(sql.Out).Dest.(*int64) = 2
		}
	}
	return c.driver, nil
}

type affected int64

func (affected) LastInsertId() (int64, error)   { return 0, nil }
func (a affected) RowsAffected() (int64, error) { return int64(a), nil }

// TestRowsChanged: the rows that a statement changed are those of the statement.
func TestRowsChanged(t *testing.T) {
	for name, driver := range map[string]affected{
		"the server's sessions begin with NOCOUNT ON": 0,
		"a trigger writes rows of its own":            7,
	} {
		for _, text := range []string{"DELETE FROM t WHERE id = @p1", "MERGE INTO t AS d USING (SELECT 1) AS s (id) " +
			"ON d.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);"} {
			server := &counted{driver: driver}
			n, err := statement.New(Statement{}).Add(text).Exec(t.Context(), server)
			if n != 2 || err != nil {
				t.Errorf("%s: %d rows, %v, want 2", name, n, err)
			}
			kind := map[byte]string{'M': "MergeStatement", 'D': "DeleteStatement"}[text[0]]
			tsqltest.Is(t, server.text, kind)
			if !strings.HasSuffix(server.text, tsqltest.Count) {
				t.Errorf("asked %s", server.text)
			}
		}
	}
}

// TestRowsChangedByServer asks a server.
func TestRowsChangedByServer(t *testing.T) {
	db := testenv.Open(t, "sqlserver", testenv.SQLServer(t))
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test has ended
	for _, text := range []string{"CREATE TABLE t (id int NOT NULL, n int NOT NULL)",
		"CREATE TABLE tally (n int NOT NULL)", "INSERT INTO t VALUES (1, 0), (2, 0)",
		"INSERT INTO tally VALUES (0), (0), (0)",
		"CREATE TRIGGER counts ON t AFTER UPDATE AS UPDATE tally SET n = n + 1"} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for _, session := range []string{"SET NOCOUNT OFF", "SET NOCOUNT ON"} {
		if _, err := conn.ExecContext(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int]int64{2: 1, 3: 0} {
			s := statement.New(Statement{}).Add("UPDATE t SET n = n + 1 WHERE id = ")
			if n, err := s.Add(s.Arg(id)).Exec(t.Context(), conn); n != want || err != nil {
				t.Errorf("%s: %d rows with the id %d, %v, want %d", session, n, id, err, want)
			}
		}
	}
}
