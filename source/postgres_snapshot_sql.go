package source

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

// The statements of a source that reads by snapshots. Each is one statement, so that it sees by one snapshot, and that is
// what pg_current_snapshot() returns in it: the window's end is the very snapshot that its first page was read by. Each
// returns at least one row, with the columns of a row, then those of snapshotColumns. rowrelay_s is named so that it hides
// no table that the user's condition or query reads.

// snapshotColumns follow a row's: the window's end, the server's present snapshot, whether it is a standby, and whether
// there is no row.
func (p *plan) snapshotColumns() []engine.Column {
	var columns []engine.Column
	for _, name := range []string{"s2", "now", "standby", "none"} {
		columns = append(columns, engine.Column{Name: name, Value: p.syntax.Words})
	}
	return columns
}

// textParam is the column of a parameter that is text.
func textParam(name string) engine.Column { return engine.Column{Name: name, Type: "text"} }

// windowPage reads the rows that upTo saw and seen did not, by transaction and key; those of transactions that were open
// in seen come first, since they are the older. An empty upTo is the present snapshot. args are the last row's place, or
// nil for the window's begin.
//
// The branches are each one range, or a few, of an index on (xid, key): the rest of the transaction that the last page
// ended in; the transactions that were open in seen and have ended; and all that began since. A transaction that is open
// for long costs nothing there, while xid >= xmin(seen) would read everything since its begin with every poll.
func (s *selection) windowPage(limit int, seen, upTo string, args []any, also []condition) statement {
	b := newBuilder(s.syntax)
	xid := &s.order[0]
	b.add("WITH rowrelay_s AS MATERIALIZED (\n\tSELECT x.s1, x.s2, x.now, pg_is_in_recovery() AS standby,\n\t\tARRAY(SELECT i FROM pg_snapshot_xip(x.s1) AS i WHERE pg_visible_in_snapshot(i, x.s2)")
	if args != nil {
		b.add(" AND i > ")
		b.value(xid, args[0])
	}
	b.add(") AS late\n\tFROM (SELECT " + b.own(textParam("s1"), seen) + "::text::pg_snapshot AS s1, ")
	b.addSnapshot("s2", upTo)
	b.add(" AS s2, pg_current_snapshot() AS now) AS x\n)\n")

	name := s.column(*xid)
	visible := "pg_visible_in_snapshot(" + name + ", (SELECT s2 FROM rowrelay_s))"
	branches := []condition{
		func(b *builder, _ *selection) {
			b.add(name + " = ANY ((SELECT late FROM rowrelay_s)::xid8[]) AND " + visible)
		},
		func(b *builder, _ *selection) {
			b.add(name + " >= (SELECT pg_snapshot_xmax(s1) FROM rowrelay_s) AND " + name + " < (SELECT pg_snapshot_xmax(s2) FROM rowrelay_s)")
			if args != nil {
				b.add(" AND " + name + " > ")
				b.value(xid, args[0])
			}
			b.add(" AND " + visible)
		},
	}
	if args != nil {
		rest := func(b *builder, s *selection) {
			b.add(name + " = ")
			b.value(xid, args[0])
			b.add(" AND ")
			b.behindRow(s, s.order[1:], args[1:])
			b.add(" AND " + visible)
		}
		branches = append([]condition{rest}, branches...)
	}
	b.snapshotRows(s, s.order, branches, limit, also)
	return b.statement()
}

// scanPage reads the rows that a snapshot saw by key; an empty one is the present. args are the last row's key, or nil.
func (s *selection) scanPage(limit int, key []engine.Column, seen string, args []any, also []condition) statement {
	b := newBuilder(s.syntax)
	b.add("WITH rowrelay_s AS MATERIALIZED (\n\tSELECT ")
	b.addSnapshot("scan", seen)
	b.add(" AS s2, pg_current_snapshot() AS now, pg_is_in_recovery() AS standby\n)\n")
	branch := func(b *builder, s *selection) {
		if args != nil {
			b.behindRow(s, key, args)
			b.add(" AND ")
		}
		b.add("pg_visible_in_snapshot(" + s.column(s.order[0]) + ", (SELECT s2 FROM rowrelay_s))")
	}
	b.snapshotRows(s, key, []condition{branch}, limit, also)
	return b.statement()
}

// windowCount counts the rows that are behind one position and not behind another; the zero window is the beginning as the
// one, and the present as the other. The arguments are those of the positions' places.
func (s *selection) windowCount(from, upTo window, fromArgs, upToArgs []any, key []engine.Column) statement {
	b := newBuilder(s.syntax)
	b.add("SELECT count(*)")
	b.from(s)
	also := []condition{func(b *builder, s *selection) { b.behindWindow(s, &upTo, upToArgs, key, "end") }}
	if from.begun {
		also = append(also, func(b *builder, s *selection) {
			b.add("NOT (")
			b.behindWindow(s, &from, fromArgs, key, "begin")
			b.add(")")
		})
	}
	b.conditions(s, span{also: also})
	return b.statement()
}

// behindWindow writes that a row, as it is now, is behind a position.
func (b *builder) behindWindow(s *selection, w *window, args []any, key []engine.Column, name string) {
	saw := func(name, text string) {
		b.add("pg_visible_in_snapshot(" + s.column(s.order[0]) + ", ")
		b.addSnapshot(name, text)
		b.add(")")
	}
	order := s.order
	switch {
	case !w.begun:
		saw(name, "")
		return
	case w.scanning && args == nil:
		b.add("false")
		return
	case w.scanning:
		saw(name, w.seen.String())
		b.add(" AND NOT ")
		order = key
	case w.open:
		b.add("(")
		saw(name+"1", w.seen.String())
		b.add(" OR ")
		saw(name+"2", w.upTo.String())
		b.add(" AND NOT ")
	default:
		saw(name, w.seen.String())
		return
	}
	b.behindRow(s, order, args)
	if w.open {
		b.add(")")
	}
}

// present reads the present snapshot, whether the server is a standby, and the highest transaction of a row: NULL in an
// empty table. Rows that source__where leaves out count as well: then it is the index's end.
func (s *selection) present() statement {
	b := newBuilder(s.syntax)
	b.add("SELECT pg_current_snapshot()::text, pg_is_in_recovery()::text, (\n\tSELECT " + s.column(s.order[0]) + "::text")
	b.from(s)
	b.add("\nWHERE " + s.column(s.order[0]) + " IS NOT NULL ORDER BY " + s.column(s.order[0]) + " DESC LIMIT 1)")
	return b.statement()
}

// scanAfter reads the order columns of the rows of a scan that come after one by key.
func (p *plan) scanAfter(s *selection, last *change.Event, scan *window, limit int) (statement, error) {
	key := pick(p.sel.columns, p.key)
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(last.Key, &members); err != nil {
		return statement{}, fmt.Errorf("read a key: %w", err)
	}
	args := make([]any, len(key))
	for i := range key {
		v, err := p.dialect.Arg(&key[i], members[key[i].Name])
		if err != nil {
			return statement{}, fmt.Errorf("read a key: %w", err)
		}
		args[i] = v
	}
	b := newBuilder(s.syntax)
	b.selectFrom(s, s.columns, limit)
	b.conditions(s, span{also: []condition{func(b *builder, s *selection) {
		b.behindRow(s, key, args)
		b.add(" AND pg_visible_in_snapshot(" + s.column(s.order[0]) + ", ")
		b.addSnapshot("scan", scan.seen.String())
		b.add(")")
	}}})
	b.add("\nORDER BY ")
	for i := range key {
		b.add(comma(i) + s.column(key[i]))
	}
	b.limit(limit)
	return b.statement(), nil
}

// addSnapshot writes a snapshot that is given, or the present one.
func (b *builder) addSnapshot(name, text string) {
	if text == "" {
		b.add("pg_current_snapshot()")
		return
	}
	b.add(b.own(textParam(name), text) + "::text::pg_snapshot")
}

// behindRow writes that a row comes after another in the order of columns.
func (b *builder) behindRow(s *selection, columns []engine.Column, args []any) {
	if len(columns) == 0 { // the key is the transaction itself
		b.add("false")
		return
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = s.column(c)
	}
	b.add("(" + strings.Join(names, ", ") + ") > (")
	for i := range columns {
		b.add(comma(i))
		b.value(&columns[i], args[i])
	}
	b.add(")")
}

// snapshotRows writes the rows of the branches, each in order and up to the limit, merged, beside s's columns.
func (b *builder) snapshotRows(s *selection, order []engine.Column, branches []condition, limit int, also []condition) {
	columns, sorted := make([]string, len(s.columns)), make([]string, len(order))
	for i := range s.columns {
		columns[i] = "w.c" + strconv.Itoa(i)
	}
	for i := range order {
		sorted[i] = "o" + strconv.Itoa(i)
	}
	b.add("SELECT " + strings.Join(columns, ", ") + ", s.s2::text, s.now::text, s.standby::text, (w.o0 IS NULL)::text\nFROM rowrelay_s AS s LEFT JOIN (\n\tSELECT * FROM (")
	for n, branch := range branches {
		if n > 0 {
			b.add("\n\tUNION ALL")
		}
		b.add("\n\t(SELECT ")
		for i, c := range s.columns {
			fmt.Fprintf(&b.text, "%s%s AS c%d", comma(i), engine.Fill(c.Value.Expr, s.column(c)), i)
		}
		for i, c := range order {
			fmt.Fprintf(&b.text, ", %s AS o%d", s.column(c), i)
		}
		b.from(s)
		b.conditions(s, span{also: append([]condition{branch}, also...)})
		b.add("\nORDER BY ")
		for i, c := range order {
			b.add(comma(i) + s.column(c))
		}
		b.add(" LIMIT " + strconv.Itoa(limit) + ")")
	}
	b.add("\n\t) AS u ORDER BY " + strings.Join(sorted, ", ") + " LIMIT " + strconv.Itoa(limit) + "\n) AS w ON true\nORDER BY w." + strings.Join(sorted, ", w."))
}
