package sqltable_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/sqltable"
	"github.com/rowrelay/rowrelay/poller"
)

var databases = map[string]func(testing.TB) string{
	"postgres": testenv.Postgres,
	"mysql":    testenv.MySQL,
	// It skips where ROWRELAY_TEST_SQLSERVER names none.
	"sqlserver": testenv.SQLServer,
	"sqlite": func(tb testing.TB) string {
		text := testenv.SQLite(tb)
		if err := os.WriteFile(strings.TrimPrefix(text, "sqlite:"), nil, 0o600); err != nil {
			tb.Fatal(err)
		}
		return text
	},
}

func each(t *testing.T, test func(t *testing.T, o *sqltable.Output, db *sql.DB)) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			c, err := engines.Parse(database(t))
			if err != nil {
				t.Fatal(err)
			}
			o, err := sqltable.New(sqltable.Config{Connection: c, Table: "copies", Sender: "shop/orders", Connections: 4})
			if err != nil {
				t.Fatal(err)
			}
			db := c.WriteDB(4)
			t.Cleanup(func() { _, _ = o.Close(), db.Close() })
			testenv.Exec(t, db, "CREATE TABLE copies (id bigint PRIMARY KEY, text varchar(200) NOT NULL)", o.DDL())
			test(t, o, db)
		})
	}
}

func rows(t *testing.T, db *sql.DB) (all string) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), "SELECT id, text FROM copies ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close() //nolint:errcheck // nothing was written
	for found.Next() {
		var id int64
		var text string
		if err := found.Scan(&id, &text); err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%d=%s ", id, text)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(all)
}

// request is one of events such as "1=a"; "1" alone is a delete.
func request(token, number uint64, events ...string) change.Delivery {
	d := outputtest.Delivery(0, len(events))
	d.Token, d.Number = token, number
	for i, text := range events {
		e := &d.Events[i]
		id, value, found := strings.Cut(text, "=")
		e.ID, e.Key = text, fmt.Appendf(nil, `{"id":%s}`, id)
		e.OrderKey = e.Key
		if e.Row = fmt.Appendf(nil, `{"id":%s,"text":%q}`, id, value); !found {
			e.Op = change.Delete
		}
	}
	return d
}

// TestLateAndRepeatedRequestsChangeNothing: what a frozen holder sends late, and what comes again.
func TestLateAndRepeatedRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *sqltable.Output, db *sql.DB) {
		for _, c := range []struct {
			d    change.Delivery
			late bool
			want string
		}{
			{request(1, 1, "1=a", "2=b", "3=c"), false, "1=a 2=b 3=c"},
			{request(2, 1, "1=A", "2"), false, "1=A 3=c"},
			{request(1, 2, "1=a"), true, "1=A 3=c"},                    // a frozen holder's
			{request(1, 3, "2=b"), true, "1=A 3=c"},                    // no row comes back
			{request(3, 1, "1=A", "2", "3=c"), false, "1=A 3=c"},       // again, by another owner
			{request(3, 2, "4=x", "4=y", "4=z"), false, "1=A 3=c 4=z"}, // the last of a key wins
		} {
			err := o.Deliver(t.Context(), c.d)
			if got := rows(t, db); (err != nil) != c.late || got != c.want {
				t.Errorf("token %d, number %d: %q, %v; want %q", c.d.Token, c.d.Number, got, err, c.want)
			}
		}
		// A repetition leaves alone what somebody else has written since.
		testenv.Exec(t, db, "UPDATE copies SET text = 'theirs' WHERE id = 1")
		if err := o.Deliver(t.Context(), request(4, 1, "1=A")); err != nil || !strings.HasPrefix(rows(t, db), "1=theirs") {
			t.Errorf("%q, %v", rows(t, db), err)
		}
	})
}

// TestFaultyRowIsNamed: the others of its request go.
func TestFaultyRowIsNamed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *sqltable.Output, db *sql.DB) {
		d := request(1, 1, "1=a", "2=b", "3=c")
		d.Events[1].Row = []byte(`{"id":2,"text":null}`)
		err := o.Deliver(t.Context(), d)
		var failure *poller.DeliveryError
		if !errors.As(err, &failure) || len(failure.Failed) != 1 || failure.Failed[0].Index != 1 ||
			failure.Failed[0].Cause != poller.Refused || !failure.Failed[0].Named || rows(t, db) != "1=a 3=c" {
			t.Errorf("%q, %v", rows(t, db), err)
		}
	})
}

// TestRowThatIsNoObject: output__jq may give anything.
func TestRowThatIsNoObject(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *sqltable.Output, db *sql.DB) {
		if err := o.Deliver(t.Context(), request(1, 1, "1=a")); err != nil {
			t.Fatal(err)
		}
		for i, row := range []string{"null", " null ", "[]", `"x"`, "1"} {
			d := request(1, uint64(i+2), "1=b") //nolint:gosec // small
			d.Events[0].Row = []byte(row)
			if err := o.Deliver(t.Context(), d); causeOf(err) != "refused" || rows(t, db) != "1=a" {
				t.Errorf("%s: %q, %v", row, rows(t, db), err)
			}
		}
	})
}
