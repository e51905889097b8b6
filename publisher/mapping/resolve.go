package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
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

// resolve finds the columns of the roles.
func (m *mapping) resolve() error {
	for i := range roles {
		r := &roles[i]
		c, err := m.find(r.role, r.byDefault, r.required)
		switch {
		case err != nil:
			return err
		case r.at != nil:
			*r.at(&m.Layout) = c
		case c != nil && m.columns[r.role] != "":
			m.Warnings = append(m.Warnings, fmt.Sprintf("%s=%s has no effect: of a mapped table only the mark of publishing is "+
				"written, failures are kept in the table beside the claims", r.setting(), c.Name))
		}
	}
	return nil
}

// find returns the column of a role; nil where there is none and none is required. required says what it is for.
func (m *mapping) find(r role, byDefault, required string) (*column.Column, error) {
	name, said := m.columns[r]
	if !said {
		name = byDefault
	}
	if name == "" || name == noColumn {
		return nil, nil
	}
	found := slices.IndexFunc(m.catalog, func(c column.Column) bool { return c.Name == name })
	if found < 0 {
		for i, c := range m.catalog {
			if !strings.EqualFold(c.Name, name) {
				continue
			}
			if found >= 0 {
				return nil, fmt.Errorf("%s=%s could be %q or %q in %s: write it exactly", r.setting(), name,
					m.catalog[found].Name, c.Name, m.table)
			}
			found = i
		}
	}
	switch {
	case found >= 0:
		return &m.catalog[found], nil
	case said:
		return nil, fmt.Errorf("%s=%s: %s has no such column; it has: %s: name one of them",
			r.setting(), name, m.table, names(m.catalog))
	case required != "":
		return nil, fmt.Errorf("%s has no column %q, and %s is not set; it has: %s: set %s to %s", m.table, name, r.setting(),
			names(m.catalog), r.setting(), required)
	}
	return nil, nil
}

// checkState decides how it is known that a row is to be published.
func (m *mapping) checkState() error {
	_, said := m.columns[roleState]
	if m.Pending == "" {
		if said {
			return fmt.Errorf("%s=%s needs %s, the value that means \"to be published\": set it", roleState.setting(),
				m.State.Name, setting(optionPending))
		}
		m.State = nil // a column that happens to have the name
	}
	if m.State == nil {
		for _, option := range []struct{ name, value string }{{optionPending, m.Pending}, {optionDone, m.Done}} {
			if option.value != "" {
				return fmt.Errorf("%s=%s is a value of the state column, and there is none: set %s to one of the columns of %s: %s",
					setting(option.name), option.value, roleState.setting(), m.table, names(m.catalog))
			}
		}
	}
	if m.Deletes {
		return nil
	}
	if m.State != nil && m.Done == "" {
		return fmt.Errorf("%s=%s needs %s, the value that means \"published\": set it, or %s=delete", roleState.setting(),
			m.State.Name, setting(optionDone), setting(optionOnPublished))
	}
	if m.State == nil && m.Published == nil && m.PublishedAt == nil {
		return fmt.Errorf("%s has no column that says what was published; it has: %s: set %s, %s, or %s with %s and %s; or %s=delete",
			m.table, names(m.catalog), rolePublished.setting(), rolePublishedAt.setting(), roleState.setting(),
			setting(optionPending), setting(optionDone), setting(optionOnPublished))
	}
	return nil
}

// checkKinds refuses columns of types that their role cannot have.
func (m *mapping) checkKinds() error {
	for i := range roles {
		r := &roles[i]
		if r.kinds == nil {
			continue
		}
		c := *r.at(&m.Layout)
		if c == nil || slices.Contains(r.kinds, c.Kind) || m.textTimes && r.want == aTime && c.Kind == column.Text {
			continue
		}
		return fmt.Errorf("%s: column %s is %s, and has to be %s: name another column, or %s where the role can do without",
			r.setting(), c.Name, c.Type, r.want, noColumn)
	}
	for option, value := range map[string]string{optionPending: m.Pending, optionDone: m.Done} {
		if m.State != nil && m.State.Kind == column.Integer && value != "" && !IsInteger(value) {
			return fmt.Errorf("%s=%s is no number, and column %s is %s: write a number", setting(option), value,
				m.State.Name, m.State.Type)
		}
	}
	return nil
}

// checkOrder decides what events are ordered by: seq; else the id where it is a number; else created_at and then the
// id.
func (m *mapping) checkOrder() error {
	if m.ID.Nullable {
		return fmt.Errorf("%s: column %s may be NULL, so that it does not identify an event: declare it NOT NULL, or name another one",
			roleID.setting(), m.ID.Name)
	}
	if m.Seq == nil && m.columns[roleSeq] != noColumn && m.ID.Kind == column.Integer {
		m.Seq = m.ID
	}
	order, r := m.Seq, roleSeq
	if order == nil {
		order, r = m.CreatedAt, roleCreatedAt
	}
	if order == nil {
		return fmt.Errorf("nothing says in which order the events of %s were written: its id is %s, and it has: %s: set %s to a growing number, or %s "+
			"to a time", m.table, m.ID.Type, names(m.catalog), roleSeq.setting(), roleCreatedAt.setting())
	}
	if order.Nullable {
		return fmt.Errorf("%s: column %s may be NULL, and such an event would have no place in the order: declare it NOT NULL, or name another one",
			r.setting(), order.Name)
	}
	if m.Seq == nil && m.AggregateID != nil {
		m.Warnings = append(m.Warnings,
			fmt.Sprintf("the events of %s are ordered by %s and %s: two of one aggregate within the same instant, or from "+
				"transactions that overlap, have no sure order; a growing number (%s) has", m.table, m.CreatedAt.Name, m.ID.Name,
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
