package sqltable

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// maxScope is what the guard's column scope holds, in characters.
const maxScope = 400

// guardKey and guardColumns are what the guard has. Its key is one column, so that planners find a few of millions of
// rows by it, whatever their statistics say; scope is for people.
var (
	guardKey     = []string{"id"}
	guardColumns = []string{"scope", "token", "number", "event_id"}
)

// guardID is the key of a key's row in the guard.
func (o *Output) guardID(keyHash string) string {
	sum := sha256.Sum256([]byte(o.scope + "\x00" + keyHash))
	return hex.EncodeToString(sum[:16])
}

// DDL is the statement that makes the guard, where it is not there yet.
func (o *Output) DDL() string { return o.create(o.guard.String()) }

// pass locks rows of the guard, raises them to the request's pair, and returns the events that are to be written: those
// of last whose id is not stored.
func (o *Output) pass(ctx context.Context, q statement.Querier, d *change.Delivery, ids []string,
	last map[string]int) (fresh []int, err error) {
	enter := o.enterLocking
	if o.returning {
		enter = o.enterReturning
	}
	for part := range slices.Chunk(ids, maxParams/5) {
		some, err := enter(ctx, q, d, part, last)
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, some...)
	}
	return fresh, nil
}

// enterReturning is pass by one statement, which also finds rows by the key whatever the planner's statistics say: it
// keeps the id that was stored before beside the new one, and leaves out rows with a higher pair.
func (o *Output) enterReturning(ctx context.Context, q statement.Querier, d *change.Delivery, ids []string,
	last map[string]int) (fresh []int, err error) {
	st := o.raising(d, ids, last).Add(", previous = g.event_id WHERE g.token < excluded.token",
		" OR g.token = excluded.token AND g.number <= excluded.number RETURNING id, coalesce(previous, '')")
	passed := 0
	err = st.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var id, event string
		if err := scan(&id, &event); err != nil {
			return false, err
		}
		passed++
		if i := last[id]; d.Events[i].ID != event {
			fresh = append(fresh, i)
		}
		return true, nil
	})
	if err == nil && passed < len(ids) {
		err = errLate
	}
	return fresh, err
}

// enterLocking is pass where an upsert returns nothing: it enters rows, locks and reads them, and raises them.
func (o *Output) enterLocking(ctx context.Context, q statement.Querier, d *change.Delivery, ids []string,
	last map[string]int) (fresh []int, err error) {
	guard := o.guard.String()
	_, err = o.upsert(statement.New(o.syntax), guard, guardKey, nil, func(st *statement.Statement) {
		for i, id := range ids {
			st.Add(comma(i), "(").Add(st.Arg(id), o.collate, ", ").Add(st.Arg(o.scope), ", 0, 0, '')")
		}
	}, slices.Concat(guardKey, guardColumns)).Exec(ctx, q)
	if err != nil {
		return nil, err
	}
	hint, suffix := o.syntax.Lock("g", false)
	st := statement.New(o.syntax).Add("SELECT id, token, number, event_id FROM ", guard, " g", hint, " WHERE ")
	st.Add(o.syntax.AnyText(st, "id", ids), " ORDER BY id", suffix)
	var raised []string
	err = st.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var id, event string
		var token, number uint64
		if err := scan(&id, &token, &number, &event); err != nil {
			return false, err
		}
		raised = append(raised, id)
		switch i := last[id]; {
		case d.Token < token, d.Token == token && d.Number < number:
			return false, errLate
		case d.Events[i].ID != event:
			fresh = append(fresh, i)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	_, err = o.raising(d, raised, last).Exec(ctx, q)
	return fresh, err
}

// raising stores the request's pair, and the id of the event of each key.
func (o *Output) raising(d *change.Delivery, ids []string, last map[string]int) *statement.Statement {
	into := o.guard.String()
	if o.returning {
		into += " AS g"
	}
	return o.upsert(statement.New(o.syntax), into, guardKey, guardColumns, func(st *statement.Statement) {
		for i, id := range ids {
			st.Add(comma(i), "(").Add(st.Arg(id), o.collate, ", ").Add(st.Arg(o.scope)).Add(", ")
			st.Add(st.Arg(int64(d.Token))).Add(", ").Add(st.Arg(int64(d.Number))).Add(", ") //nolint:gosec // they count from 1
			st.Add(st.Arg(d.Events[last[id]].ID), ")")
		}
	}, slices.Concat(guardKey, guardColumns))
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

func list(names []string, each func(string) string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = each(name)
	}
	return strings.Join(texts, ", ")
}
