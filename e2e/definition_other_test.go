package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestResetIntoAnotherTable: the stored position says nothing of another table. A reset into it tells of every row that
// it passes over, since none of them may have been delivered.
func TestResetIntoAnotherTable(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 5)
	execute(t, db, `CREATE TABLE archive (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, status TEXT NOT NULL)`)
	// below the position in orders
	execute(t, db, `INSERT INTO archive VALUES (1, 1, 'old'), (2, 2, 'old'), (3, 3, 'old')`)
	dir := t.TempDir()
	once(t, dir, s)
	now := s.with(settings{"pollers__orders__source__table": "archive"})
	said := operate(t, dir, now, "state", "reset", "orders", "--to", "latest")
	wants(t, said, "at most 3 row(s) up to there will be SKIPPED", "data loss", "checkpoint_advanced_manually")
	wants(t, stdout(t, dir, now, "state", "show", "orders"), "SKIPPED      3 row(s)")
	execute(t, db, `INSERT INTO archive VALUES (4, 9, 'new')`)
	once(t, dir, now)
	if came := to.column("version"); came["9"] != 1 {
		t.Errorf("the rows that came are %v", came)
	}
	// Back in the first table, from its beginning: nothing is skipped.
	said = operate(t, dir, s, "state", "reset", "orders", "--to", "beginning")
	if strings.Contains(said, "SKIPPED") || strings.Contains(said, "checkpoint_advanced_manually") {
		t.Errorf("a reset to the beginning: %s", said)
	}
	once(t, dir, s)
	if came := to.column("version"); came["1"] != 2 || came["5"] != 2 {
		t.Errorf("the rows that came are %v", came)
	}
}

// TestChangedDefinitionEndsABackfill: the range of a backfill is of the source as it was. Where an operator accepts
// another one, the backfill ends, and that is said: else its range could not be read, and the poller would stand still.
func TestChangedDefinitionEndsABackfill(t *testing.T) {
	t.Parallel()
	for name, way := range map[string][]string{
		"reset": {"state", "reset", "orders", "--to", "beginning"}, "accept": {"state", "accept-fingerprint", "orders"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			s, db := sqliteShop(t, to.URL, 5)
			execute(t, db, `CREATE TABLE archive (line TEXT PRIMARY KEY, version INTEGER NOT NULL)`)
			dir := t.TempDir()
			once(t, dir, s)
			operate(t, dir, s, "backfill", "orders", "--from", "beginning", "--detach")
			now := s.with(settings{"pollers__orders__source__table": "archive", "pollers__orders__source__key": "line"})
			wants(t, operate(t, dir, now, way...), "The backfill will be stopped", "backfill_stopped")
			if way[1] == "accept-fingerprint" { // which says that the position does not fit, and what to do
				operate(t, dir, now, "state", "reset", "orders", "--to", "beginning")
			}
			execute(t, db, `INSERT INTO archive VALUES ('a', 7)`)
			once(t, dir, now)
			if came := to.column("version"); came["7"] != 1 {
				t.Errorf("the rows that came are %v", came)
			}
		})
	}
}

// TestAcceptedTableIsNoGap: whoever accepts another table has accepted that it is not the one that the position was
// read in.
func TestAcceptedTableIsNoGap(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	db, url := openPostgres(t)
	for _, table := range []string{"orders", "archive"} {
		execute(t, db, fmt.Sprintf(`CREATE TABLE %s (id int PRIMARY KEY, version int)`, table))
		execute(t, db, fmt.Sprintf(`INSERT INTO %s SELECT g, g FROM generate_series(1, 5) g`, table))
	}
	s := ordersByCursor(t, url, to.URL, "id")
	dir := t.TempDir()
	once(t, dir, s)
	now := s.with(settings{"pollers__orders__source__table": "archive"})
	operate(t, dir, now, "state", "accept-fingerprint", "orders")
	execute(t, db, `INSERT INTO archive VALUES (6, 6)`)
	once(t, dir, now)
	if came := to.column("version"); len(came) != 6 || came["6"] != 1 {
		t.Errorf("the rows that came are %v", came)
	}
}

// TestAdviceOfTheSourceNamesTheDocument: the outputs of a poller share its source, and each has a document of its own:
// what the source advises is told with the one that the tick was about.
func TestAdviceOfTheSourceNamesTheDocument(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 5)
	execute(t, db, `CREATE TABLE archive (line TEXT PRIMARY KEY, version INTEGER NOT NULL)`)
	s = s.with(settings{"pollers__orders__outputs__archive__kind": "stdout"})
	dir := t.TempDir()
	once(t, dir, s)
	now := s.with(settings{"pollers__orders__source__table": "archive", "pollers__orders__source__key": "line"})
	for _, output := range []string{"", "archive"} {
		operate(t, dir, now, "state", "accept-fingerprint", "orders", "--output", output)
	}
	for _, args := range [][]string{{"run", "--once"}, {"check"}} {
		out, errs, err := command(t, dir, now, args...)
		if exitCode(t, err) != 1 {
			t.Errorf("%v passes a position that does not fit", args)
		}
		wants(t, out+errs, "rowrelay state reset orders --to beginning",
			"rowrelay state reset orders --output archive --to beginning")
		if strings.Contains(out+errs, "<poller>") {
			t.Errorf("a command names no document: %s%s", out, errs)
		}
	}
}
