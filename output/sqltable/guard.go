package sqltable

import (
	"context"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// guardTable is the guard's name. It lies in the schema of the destination.
const guardTable = "rowrelay_applied"

// maxScope is what the guard's column scope holds, in characters.
const maxScope = 400

// guardKey and guardColumns are what the guard has: the last tell what was written last of a key.
var (
	guardKey     = []string{"scope", "key_hash"}
	guardColumns = []string{"token", "number", "event_id"}
)

// DDL is the statement that makes the guard, where it is not there yet.
func (o *Output) DDL() string { return o.create(o.guard.String()) }

// pass locks the guard's rows of the keys, raises them to the request's pair, and returns the events that are to be
// written: those of last whose id is not stored.
func (o *Output) pass(ctx context.Context, q statement.Querier, d *change.Delivery, hashes []string,
	last map[string]int) (fresh []int, err error) {
	for part := range slices.Chunk(hashes, maxParams/5) {
		some, err := o.passSome(ctx, q, d, part, last)
		if err != nil {
			return nil, err
		}
		fresh = append(fresh, some...)
	}
	return fresh, nil
}

func (o *Output) passSome(ctx context.Context, q statement.Querier, d *change.Delivery, hashes []string,
	last map[string]int) (fresh []int, err error) {
	guard := o.guard.String()
	_, err = o.upsert(statement.New(o.syntax), guard, guardKey, nil, func(st *statement.Statement) {
		for i, hash := range hashes {
			st.Add(comma(i), "(").Add(st.Arg(o.scope)).Add(", ").Add(st.Arg(hash), ", 0, 0, '')")
		}
	}, slices.Concat(guardKey, guardColumns)).Exec(ctx, q)
	if err != nil {
		return nil, err
	}
	hint, suffix := o.syntax.Lock(false)
	st := statement.New(o.syntax).Add("SELECT key_hash, token, number, event_id FROM ", guard, hint, " WHERE scope = ")
	st.Add(st.Arg(o.scope), " AND ")
	st.Add(o.syntax.AnyText(st, "key_hash", hashes), " ORDER BY key_hash", suffix)
	var raised []string
	err = st.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var hash, id string
		var token, number uint64
		if err := scan(&hash, &token, &number, &id); err != nil {
			return false, err
		}
		raised = append(raised, hash)
		switch i := last[hash]; {
		case d.Token < token, d.Token == token && d.Number < number:
			return false, errLate
		case d.Events[i].ID != id:
			fresh = append(fresh, i)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return fresh, o.raise(ctx, q, d, raised, last)
}

// raise stores the request's pair, and the id of the event of each key.
func (o *Output) raise(ctx context.Context, q statement.Querier, d *change.Delivery, hashes []string,
	last map[string]int) error {
	_, err := o.upsert(statement.New(o.syntax), o.guard.String(), guardKey, guardColumns, func(st *statement.Statement) {
		for i, hash := range hashes {
			st.Add(comma(i), "(").Add(st.Arg(o.scope)).Add(", ").Add(st.Arg(hash)).Add(", ")
			st.Add(st.Arg(int64(d.Token))).Add(", ").Add(st.Arg(int64(d.Number))).Add(", ") //nolint:gosec // they count from 1
			st.Add(st.Arg(d.Events[last[hash]].ID), ")")
		}
	}, slices.Concat(guardKey, guardColumns)).Exec(ctx, q)
	return err
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
