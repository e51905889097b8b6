package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/poller"
)

// Layout is a mapping that was proved against the catalog: what statements are made of.
type Layout struct {
	ID, Payload *column.Column // both are there
	// Seq orders events where it is given; otherwise CreatedAt and ID do.
	Seq *column.Column
	// AggregateID is nil with source__map__aggregate_id=none: every event is then an aggregate of its own, named by
	// its id.
	AggregateType, AggregateID, EventType, Key *column.Column
	CreatedAt, Published, PublishedAt, State   *column.Column
	Attempts, TraceParent, TraceState          *column.Column
	AvailableAt, ExpiresAt                     *column.Column
	// Pending and Done are values of State. Deletes says that published rows are deleted instead of marked.
	Pending, Done string
	Deletes       bool
	// Warnings are for the operator.
	Warnings []string
}

// Columns are those that have a role.
func (l *Layout) Columns() (list []*column.Column) {
	for i := range roles {
		if roles[i].at == nil {
			continue
		}
		if c := *roles[i].at(l); c != nil && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// resolve proves a mapping against the columns of table, which is its name for people.
func (m *mapping) resolve(table string, catalog []column.Column) (Layout, error) {
	l := Layout{Pending: m.pending, Done: m.done, Deletes: m.deletes}
	for i := range roles {
		r := &roles[i]
		c, err := m.find(table, catalog, r.role, r.byDefault, r.required)
		switch {
		case err != nil:
			return Layout{}, err
		case r.at != nil:
			*r.at(&l) = c
		case c != nil && m.columns[r.role] != "":
			l.Warnings = append(l.Warnings, fmt.Sprintf("%s=%s has no effect: of a mapped table only the mark of publishing is "+
				"written, failures are kept in the table beside the claims", r.setting(), c.Name))
		}
	}
	if err := l.checkState(m, table, catalog); err != nil {
		return Layout{}, err
	}
	if err := l.checkKinds(m.textTimes); err != nil {
		return Layout{}, err
	}
	return l, l.checkOrder(m, table, catalog)
}

// find returns the column of a role; nil where there is none and none is required. required says what it is for.
func (m *mapping) find(table string, catalog []column.Column, r role, byDefault,
	required string) (*column.Column, error) {
	name, said := m.columns[r]
	if !said {
		name = byDefault
	}
	if name == "" || name == noColumn {
		return nil, nil
	}
	found := slices.IndexFunc(catalog, func(c column.Column) bool { return c.Name == name })
	if found < 0 {
		for i, c := range catalog {
			if !strings.EqualFold(c.Name, name) {
				continue
			}
			if found >= 0 {
				return nil, fmt.Errorf("%w: %s=%s could be %q or %q in %s: write it exactly", poller.ErrConfig,
					r.setting(), name,
					catalog[found].Name, c.Name, table)
			}
			found = i
		}
	}
	switch {
	case found >= 0:
		return &catalog[found], nil
	case said:
		return nil, fmt.Errorf("%w: %s=%s: %s has no such column; it has: %s: name one of them", poller.ErrConfig,
			r.setting(), name, table, names(catalog))
	case required != "":
		return nil, fmt.Errorf("%w: %s has no column %q, and %s is not set; it has: %s: set %s to %s",
			poller.ErrConfig, table, name, r.setting(),
			names(catalog), r.setting(), required)
	}
	return nil, nil
}

// checkState decides how it is known that a row is to be published.
func (l *Layout) checkState(m *mapping, table string, catalog []column.Column) error {
	_, said := m.columns[roleState]
	if m.pending == "" {
		if said {
			return fmt.Errorf("%w: %s=%s needs %s, the value that means \"to be published\": set it",
				poller.ErrConfig, roleState.setting(),
				l.State.Name, setting(optionPending))
		}
		l.State = nil // a column that happens to have the name
	}
	if l.State == nil {
		for _, option := range []struct{ name, value string }{{optionPending, m.pending}, {optionDone, m.done}} {
			if option.value != "" {
				return fmt.Errorf("%w: %s=%s is a value of the state column, and there is none: set %s to one of the columns of %s: %s", poller.ErrConfig,
					setting(option.name), option.value, roleState.setting(), table, names(catalog))
			}
		}
	}
	if l.Deletes {
		return nil
	}
	if l.State != nil && m.done == "" {
		return fmt.Errorf("%w: %s=%s needs %s, the value that means \"published\": set it, or %s=delete",
			poller.ErrConfig, roleState.setting(),
			l.State.Name, setting(optionDone), setting(optionOnPublished))
	}
	if l.State == nil && l.Published == nil && l.PublishedAt == nil {
		return fmt.Errorf("%w: %s has no column that says what was published; it has: %s: set %s, %s, or %s with %s and %s; or %s=delete", poller.ErrConfig,
			table, names(catalog), rolePublished.setting(), rolePublishedAt.setting(), roleState.setting(),
			setting(optionPending),
			setting(optionDone), setting(optionOnPublished))
	}
	return nil
}

// checkKinds refuses columns of types that their role cannot have.
func (l *Layout) checkKinds(textTimes bool) error {
	for i := range roles {
		r := &roles[i]
		if r.kinds == nil {
			continue
		}
		c := *r.at(l)
		if c == nil || slices.Contains(r.kinds, c.Kind) || textTimes && r.want == aTime && c.Kind == column.Text {
			continue
		}
		return fmt.Errorf("%w: %s: column %s is %s, and has to be %s: name another column, or %s where the role can do without", poller.ErrConfig,
			r.setting(), c.Name, c.Type, r.want, noColumn)
	}
	for option, value := range map[string]string{optionPending: l.Pending, optionDone: l.Done} {
		if l.State != nil && l.State.Kind == column.Integer && value != "" && !IsInteger(value) {
			return fmt.Errorf("%w: %s=%s is no number, and column %s is %s: write a number", poller.ErrConfig,
				setting(option), value,
				l.State.Name, l.State.Type)
		}
	}
	return nil
}

// checkOrder decides what events are ordered by: seq; else the id where it is a number; else created_at and then the
// id.
func (l *Layout) checkOrder(m *mapping, table string, catalog []column.Column) error {
	if l.ID.Nullable {
		return fmt.Errorf("%w: %s: column %s may be NULL, so that it does not identify an event: declare it NOT NULL, or name another one", poller.ErrConfig,
			roleID.setting(), l.ID.Name)
	}
	if l.Seq == nil && m.columns[roleSeq] != noColumn && l.ID.Kind == column.Integer {
		l.Seq = l.ID
	}
	order, r := l.Seq, roleSeq
	if order == nil {
		order, r = l.CreatedAt, roleCreatedAt
	}
	if order == nil {
		return fmt.Errorf("%w: nothing says in which order the events of %s were written: its id is %s, and it has: %s: set %s to a growing number, or %s "+
			"to a time", poller.ErrConfig, table, l.ID.Type, names(catalog), roleSeq.setting(), roleCreatedAt.setting())
	}
	if order.Nullable {
		return fmt.Errorf("%w: %s: column %s may be NULL, and such an event would have no place in the order: declare it NOT NULL, or name another one",
			poller.ErrConfig, r.setting(), order.Name)
	}
	if l.Seq == nil && l.AggregateID != nil {
		l.Warnings = append(l.Warnings,
			fmt.Sprintf("the events of %s are ordered by %s and %s: two of one aggregate within the same instant, or from "+
				"transactions that overlap, have no sure order; a growing number (%s) has", table, l.CreatedAt.Name, l.ID.Name,
				roleSeq.setting()))
	}
	return nil
}

func names(catalog []column.Column) string {
	list := make([]string, len(catalog))
	for i, c := range catalog {
		list[i] = c.Name
	}
	return strings.Join(list, ", ")
}

// IsInteger says that a text is a whole number that every engine takes.
func IsInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && len(digits) <= 18 && strings.Trim(digits, "0123456789") == ""
}
