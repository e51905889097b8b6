package sqltable_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/sqltable"
)

var unquoted = strings.NewReplacer("`", "", `"`, "", "[", "", "]", "")

// TestLostState: where the state document was deleted, tokens begin at 1 again. Nothing is taken then, keys that are
// new included: what is taken would be evidence against the other events. When the guard's rows are deleted all is
// taken.
func TestLostState(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *sqltable.Output, db *sql.DB) {
		const remedy = "DELETE FROM rowrelay_applied WHERE scope = 'shop/orders copies'"
		if err := o.Deliver(t.Context(), request(5, 1, "1=a", "2=b")); err != nil {
			t.Fatal(err)
		}
		lost := func(d change.Delivery) {
			t.Helper()
			err := o.Deliver(t.Context(), d)
			if causeOf(err) != "unavailable" || !errors.Is(err, change.ErrConfig) ||
				!strings.Contains(unquoted.Replace(err.Error()), remedy) {
				t.Errorf("%v", err)
			}
		}
		lost(request(1, 1, "1=A", "3=c"))
		lost(request(1, 2, "3=c"))
		lost(request(4, 1, "3=c"))
		// As an earlier version left the guard.
		testenv.Exec(t, db, "DELETE FROM rowrelay_applied WHERE number = 0")
		lost(request(1, 3, "3=c"))
		if got := rows(t, db); got != "1=a 2=b" {
			t.Error(got)
		}
		testenv.Exec(t, db, remedy)
		if err := o.Deliver(t.Context(), request(1, 4, "1=A", "3=c")); err != nil || rows(t, db) != "1=A 2=b 3=c" {
			t.Errorf("%s, %v", rows(t, db), err)
		}
		if err := o.Deliver(t.Context(), request(2, 1, "4=d")); err != nil {
			t.Error(err)
		}
	})
}

// TestLateKeyCountsNoAttempt: a request that its own sender has given up.
func TestLateKeyCountsNoAttempt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *sqltable.Output, db *sql.DB) {
		if err := o.Deliver(t.Context(), request(1, 2, "1=a")); err != nil {
			t.Fatal(err)
		}
		if err := o.Deliver(t.Context(), request(1, 1, "1=b")); causeOf(err) != "misplaced" || rows(t, db) != "1=a" {
			t.Errorf("%s, %v", rows(t, db), err)
		}
	})
}
