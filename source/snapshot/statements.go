package snapshot

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// The statements of a source that reads by snapshots. Each is one statement, so that it sees by one snapshot, and that
// is what pg_current_snapshot() returns in it: the window's end is the very snapshot that its first page was read by.
// (A transaction whose statements share a snapshot would not do: it is taken before the tables are locked, and shows a
// table that an ALTER rewrote in between as empty.) Each returns the columns of a row, then those of Columns, and after
// the rows one that has no row: it comes also where there is none. rowrelay_s is named so that it hides no table that
// the user's condition or query reads.

// textParam is the column of a parameter that is text.
func textParam(name string) engine.Column { return engine.Column{Name: name, Type: "text"} }

// WindowPage reads the rows that upTo saw and w.Seen did not, by transaction and key; those of transactions that were
// open in w.Seen come first, since they are the older. An empty upTo is the present snapshot. args are those of
// w.After, the last row's place; nil for the window's begin.
//
// The branches are each one range, or a few, of an index on (xid, key): the rest of the transaction that the last page
// ended in; the transactions that were open in w.Seen and have ended; and all that began since. A transaction that is
// open for long costs nothing there, while xid >= xmin(seen) would read everything since its begin with every poll.
// Where no such transaction is left, one branch is all: the range after the last row.
func (p Reader) WindowPage(limit int, w *Window, upTo string, args []any, also []keyset.Condition) keyset.Statement {
	s := p.Sel
	b := keyset.NewBuilder(s.Syntax)
	xid := &s.Order[0]
	open, passed := len(w.Seen.XIP) > 0, false
	if args != nil {
		if last, err := transactionOf(w.After[0]); err == nil && last >= w.Seen.XMax {
			open, passed = false, true
		}
	}
	b.Add("WITH rowrelay_s AS MATERIALIZED (\n\tSELECT x.s1, x.s2, " + p.Heard() + " AS heard")
	if open {
		b.Add(",\n\t\tARRAY(SELECT i FROM pg_snapshot_xip(x.s1) AS i WHERE pg_visible_in_snapshot(i, x.s2)")
		if args != nil {
			b.Add(" AND i > ")
			b.Value(xid, args[0])
		}
		b.Add(") AS late")
	}
	b.Add("\n\tFROM (SELECT " + b.Own(textParam("s1"), w.Seen.String()) + "::text::pg_snapshot AS s1, ")
	addSnapshot(b, "s2", upTo)
	b.Add(" AS s2) AS x\n)\n")

	name := s.Column(*xid)
	below := name + " < (SELECT pg_snapshot_xmax(s2) FROM rowrelay_s) AND "
	visible := "pg_visible_in_snapshot(" + name + ", (SELECT s2 FROM rowrelay_s))"
	var branches []keyset.Condition
	if args != nil && !passed {
		branches = append(branches, func(b *keyset.Builder, s *keyset.Selection) {
			afterRow(b, s, s.Order, args)
			b.Add(" AND " + name + " <= ") // not =: a branch whose rows have one transaction would be sorted, for the others'
			b.Value(xid, args[0])
			b.Add(" AND " + visible)
		})
	}
	if open {
		branches = append(branches, func(b *keyset.Builder, _ *keyset.Selection) {
			b.Add(name + " = ANY ((SELECT late FROM rowrelay_s)::xid8[]) AND " + visible)
		})
	}
	branches = append(branches, func(b *keyset.Builder, s *keyset.Selection) {
		if passed {
			afterRow(b, s, s.Order, args)
		} else {
			b.Add(name + " >= (SELECT pg_snapshot_xmax(s1) FROM rowrelay_s)")
		}
		b.Add(" AND " + below + visible)
	})
	snapshotRows(b, s, s.Order, branches, limit, also)
	return b.Statement()
}

// ScanPage reads the rows that a snapshot saw by key; an empty one is the present. args are the last row's key, or nil.
func (p Reader) ScanPage(limit int, seen string, args []any, also []keyset.Condition) keyset.Statement {
	s, key := p.Sel, p.Key
	b := keyset.NewBuilder(s.Syntax)
	b.Add("WITH rowrelay_s AS MATERIALIZED (\n\tSELECT x.s2, " + p.Heard() + " AS heard\n\tFROM (SELECT ")
	addSnapshot(b, "scan", seen)
	b.Add(" AS s2) AS x\n)\n")
	branch := func(b *keyset.Builder, s *keyset.Selection) {
		if args != nil {
			afterRow(b, s, key, args)
			b.Add(" AND ")
		}
		b.Add("pg_visible_in_snapshot(" + s.Column(s.Order[0]) + ", (SELECT s2 FROM rowrelay_s))")
	}
	snapshotRows(b, s, key, []keyset.Condition{branch}, limit, also)
	return b.Statement()
}

// Count counts the rows that one position covers and another does not; the zero window is the beginning as the
// one, and the present as the other. The arguments are those of the positions' places. It counts up to most; 0 is no
// bound.
func Count(s *keyset.Selection, from, upTo Window, fromArgs, upToArgs []any, key []engine.Column,
	most int) keyset.Statement {
	b := keyset.NewBuilder(s.Syntax)
	also := []keyset.Condition{func(b *keyset.Builder, s *keyset.Selection) {
		coveredBy(b, s, &upTo, upToArgs, key, "end")
	}}
	if from.Begun {
		also = append(also, func(b *keyset.Builder, s *keyset.Selection) {
			b.Add("NOT (")
			coveredBy(b, s, &from, fromArgs, key, "begin")
			b.Add(")")
		})
	}
	if from.Begun && !from.Scanning { // an index serves it: all transactions before its oldest open one are covered
		also = append(also, func(b *keyset.Builder, s *keyset.Selection) {
			least := textParam("least")
			b.Add(s.Column(s.Order[0]) + " >= " + b.Own(least, strconv.FormatUint(from.Seen.XMin, 10)) + "::text::xid8")
		})
	}
	b.Counted(most, func() {
		b.From(s)
		b.Conditions(s, keyset.Span{Also: also})
	})
	return b.Statement()
}

// coveredBy writes that a row, as it is now, is covered by a position: it came before.
func coveredBy(b *keyset.Builder, s *keyset.Selection, w *Window, args []any, key []engine.Column, name string) {
	saw := func(name, text string) {
		b.Add("pg_visible_in_snapshot(" + s.Column(s.Order[0]) + ", ")
		addSnapshot(b, name, text)
		b.Add(")")
	}
	order := s.Order
	switch {
	case !w.Begun:
		saw(name, "")
		return
	case w.Scanning && args == nil:
		b.Add("false")
		return
	case w.Scanning:
		saw(name, w.Seen.String())
		b.Add(" AND NOT ")
		order = key
	case w.Open:
		b.Add("(")
		saw(name+"1", w.Seen.String())
		b.Add(" OR ")
		saw(name+"2", w.UpTo.String())
		b.Add(" AND NOT ")
	default:
		saw(name, w.Seen.String())
		return
	}
	afterRow(b, s, order, args)
	if w.Open {
		b.Add(")")
	}
}

// Present reads what Heard says, and the highest transaction of a row: NULL in an empty table. Rows that source__where
// leaves out count as well: then it is the index's end.
func (p Reader) Present() keyset.Statement {
	s := p.Sel
	b := keyset.NewBuilder(s.Syntax)
	b.Add("SELECT " + p.Heard() + ", (\n\tSELECT " + s.Column(s.Order[0]) + "::text")
	b.From(s)
	b.Add("\nWHERE " + s.Column(s.Order[0]) + " IS NOT NULL ORDER BY " + s.Column(s.Order[0]) + " DESC LIMIT 1)")
	return b.Statement()
}

// addSnapshot writes a snapshot that is given, or the present one.
func addSnapshot(b *keyset.Builder, name, text string) {
	if text == "" {
		b.Add("pg_current_snapshot()")
		return
	}
	b.Add(b.Own(textParam(name), text) + "::text::pg_snapshot")
}

// afterRow writes that a row comes after another in the order of columns.
func afterRow(b *keyset.Builder, s *keyset.Selection, columns []engine.Column, args []any) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = s.Column(c)
	}
	b.Add("(" + strings.Join(names, ", ") + ") > (")
	for i := range columns {
		b.Add(keyset.Comma(i))
		b.Value(&columns[i], args[i])
	}
	b.Add(")")
}

// snapshotRows writes the rows of the branches, each in order and up to the limit, merged, and after them the row that
// has none: it is last because it has NULL where rows are ordered by. Each part has its order already, so that the
// server merges them and sorts nothing.
//
// What is large of a row that source__where does not choose stays in the server, which keeps it beside the row, and
// would have to fetch it.
func snapshotRows(b *keyset.Builder, s *keyset.Selection, order []engine.Column, branches []keyset.Condition, limit int,
	also []keyset.Condition) {
	sorted := make([]string, len(order))
	for i := range order {
		sorted[i] = "o" + strconv.Itoa(i)
	}
	b.Add("SELECT ")
	mark := len(s.Columns) - 1
	for i := range s.Columns {
		column := "w.c" + strconv.Itoa(i)
		if s.Marked && i != mark && s.Columns[i].Large() {
			column = fmt.Sprintf("CASE WHEN w.c%d = 'y' THEN %s END", mark, column)
		}
		b.Add(column + ", ")
	}
	b.Add("w.heard, w.ended\nFROM (\n\t(SELECT * FROM (")
	for n, branch := range branches {
		if n > 0 {
			b.Add("\n\tUNION ALL")
		}
		b.Add("\n\t(SELECT ")
		for i, c := range s.Columns {
			fmt.Fprintf(&b.Text, "%s AS c%d, ", engine.Fill(c.Value.Expr, s.Column(c)), i)
		}
		b.Add("(SELECT heard FROM rowrelay_s) AS heard, NULL AS ended")
		for i, c := range order {
			fmt.Fprintf(&b.Text, ", %s AS o%d", s.Column(c), i)
		}
		b.From(s)
		b.Conditions(s, keyset.Span{Also: append([]keyset.Condition{branch}, also...), All: s.Marked})
		b.Add("\nORDER BY ")
		for i, c := range order {
			b.Add(keyset.Comma(i) + s.Column(c))
		}
		b.Add(" LIMIT " + strconv.Itoa(limit) + ")")
	}
	b.Add("\n\t) AS u ORDER BY " + strings.Join(sorted, ", ") + " LIMIT " + strconv.Itoa(limit) +
		")\n\tUNION ALL\n\tSELECT " + strings.Repeat("NULL, ", len(s.Columns)) + "heard, 'true'" +
		strings.Repeat(", NULL", len(order)) + " FROM rowrelay_s\n) AS w\nORDER BY w." + strings.Join(sorted, ", w."))
}

// Ahead reads one row whose transaction the server has not come to. A row that is visible was committed, by a
// transaction below the snapshot's end: one that says otherwise was written with another server's number.
func Ahead(s *keyset.Selection) keyset.Statement {
	b := keyset.NewBuilder(s.Syntax)
	b.Add("SELECT " + s.Column(s.Order[0]) + "::text, pg_snapshot_xmax(pg_current_snapshot())::text")
	b.From(s)
	b.Conditions(s, keyset.Span{Also: []keyset.Condition{func(b *keyset.Builder, s *keyset.Selection) {
		b.Add(s.Column(s.Order[0]) + " >= pg_snapshot_xmax(pg_current_snapshot())")
	}}})
	b.Limit(1)
	return b.Statement()
}
