package sqltable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// maxRows is how many rows a statement holds at most: SQL Server takes 1,000 in VALUES.
const maxRows = 1000

// apply deletes the rows whose event is a delete, and upserts the others: those with the same columns in one statement.
func (o *Output) apply(ctx context.Context, q statement.Querier, rows map[int]*row, some []int) error {
	groups := map[string][]*row{}
	var order []string
	for _, i := range some {
		r := rows[i]
		if r.remove {
			if err := o.remove(ctx, q, r); err != nil {
				return err
			}
			continue
		}
		id := fmt.Sprintf("%q", r.names)
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], r)
	}
	for _, id := range order {
		all := groups[id]
		for part := range slices.Chunk(all, min(maxRows, max(1, maxParams/len(all[0].names)))) {
			if err := o.put(ctx, q, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Output) put(ctx context.Context, q statement.Querier, rows []*row) error {
	r := rows[0]
	others := slices.DeleteFunc(slices.Clone(r.names), func(c string) bool { return slices.Contains(r.key, c) })
	_, err := o.upsert(statement.New(o.syntax), o.table.String(), r.key, others, func(st *statement.Statement) {
		for i, r := range rows {
			st.Add(comma(i), "(")
			for j, v := range r.values {
				st.Add(comma(j), engine.Fill(r.params[j], st.Arg(v)))
			}
			st.Add(")")
		}
	}, r.names).Exec(ctx, q)
	return err
}

func (o *Output) remove(ctx context.Context, q statement.Querier, r *row) error {
	st := statement.New(o.syntax).Add("DELETE FROM ", o.table.String(), " WHERE ")
	for j := range r.key {
		if j > 0 {
			st.Add(" AND ")
		}
		st.Add(o.syntax.Quote(r.names[j]), " = ", engine.Fill(r.params[j], st.Arg(r.values[j])))
	}
	_, err := st.Exec(ctx, q)
	return err
}

// read takes an event's key, and its other columns unless it is a delete, as values of the table's columns.
func (o *Output) read(t *engine.Table, e *change.Event) (*row, error) {
	r := &row{remove: e.Op == change.Delete}
	if err := o.take(t, r, e.Key, true); err != nil {
		return nil, err
	}
	r.key = slices.Clone(r.names)
	if err := o.fits(t, r.key); err != nil {
		return nil, err
	}
	if err := o.distinct(t, r); err != nil {
		return nil, err
	}
	if r.remove {
		return r, nil
	}
	return r, o.take(t, r, e.Row, false)
}

// take adds the members of a JSON object that are not there yet.
func (o *Output) take(t *engine.Table, r *row, data []byte, key bool) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return rowFault{fmt.Errorf("what is to be written is no JSON object: %w", err)}
	}
	if members == nil {
		return rowFault{errors.New("what is to be written is null, and no JSON object")}
	}
	for i := range t.Columns { // in the table's order, so that rows with the same columns are alike
		c := &t.Columns[i]
		name := memberOf(members, c.Name)
		value, ok := members[name]
		delete(members, name)
		if !ok || slices.Contains(r.names, c.Name) {
			continue
		}
		if c.Computed && !r.remove {
			return Lack(fmt.Sprintf("%s takes no value for its column %s, which the database gives itself: leave it out by "+
				"output__columns, or make it an ordinary column", o.table, c.Name))
		}
		v, err := o.value(c, value)
		if err == nil && o.stored != nil {
			v, err = o.stored(t, c, value, v)
		}
		if err == nil && key {
			err = o.keeps(c, value, v)
		}
		if err != nil {
			return rowFault{fmt.Errorf("column %s: %w", c.Name, err)}
		}
		r.names, r.values, r.params = append(r.names, c.Name), append(r.values, v), append(r.params, o.param(c, v, key))
	}
	for name := range members {
		return Lack(fmt.Sprintf("%s has no column %s: add it, or leave it out by output__columns", o.table, name))
	}
	return nil
}

// memberOf is the member of a column's name: written so, or in other letters where only one is.
func memberOf(members map[string]json.RawMessage, column string) string {
	if _, ok := members[column]; ok {
		return column
	}
	for name := range members {
		if strings.EqualFold(name, column) {
			return name
		}
	}
	return column
}

func (l Lack) Error() string { return string(l) }

// Unwrap says that the settings, or the table, are at fault.
func (Lack) Unwrap() error { return change.ErrConfig }

// fits sees to it that one row of the table has a key.
func (o *Output) fits(t *engine.Table, key []string) error {
	if t.Unproved != "" {
		return Lack(fmt.Sprintf("several rows of %s may have one key: %s", o.table, t.Unproved))
	}
	same := func(columns []string) bool {
		return len(columns) == len(key) && !slices.ContainsFunc(columns, func(c string) bool {
			return !slices.ContainsFunc(key, func(k string) bool { return strings.EqualFold(c, k) })
		})
	}
	found := same(t.PrimaryKey)
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		switch {
		case !ix.Unique:
		case o.anyUnique && same(ix.Whole):
			found = true
		case o.anyUnique && (ix.Whole == nil || !slices.Equal(ix.Whole, t.PrimaryKey)):
			return Lack(fmt.Sprintf("%s has the unique index %s beside its key, or over a part of it: an upsert of MySQL and "+
				"MariaDB would take a row with the same value there for the row itself. Drop the index, or make it one that is "+
				"not unique", o.table, ix.Name))
		case !o.anyUnique && !ix.Partial && ix.Declared > 0 && ix.Declared <= len(ix.Columns):
			found = found || same(ix.Columns[:ix.Declared])
		}
	}
	if o.anyUnique && len(t.PrimaryKey) > 0 && !same(t.PrimaryKey) {
		found = false
	}
	if !found {
		return Lack(fmt.Sprintf("%s needs a primary key or a unique index of exactly the columns of the key (%s)", o.table,
			strings.Join(key, ", ")))
	}
	return nil
}
