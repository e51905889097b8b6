package output

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
)

// Template is literal text and placeholders in turns: Texts has one more than Names.
type Template struct{ Texts, Names []string }

// ParseTemplate reads text with {placeholders}; {{ and }} are braces. A placeholder is one of names, or one that more
// takes (nil takes none).
func ParseTemplate(text string, names []string, more func(name string) bool) (Template, error) {
	var t Template
	var literal strings.Builder
	for rest := text; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			literal.WriteByte(rest[0])
			rest = rest[2:]
		case rest[0] == '{':
			name, after, ok := strings.Cut(rest[1:], "}")
			if !ok {
				return Template{}, errors.New("a { has no } after it; write {{ for a brace")
			}
			if !slices.Contains(names, name) && (more == nil || !more(name)) {
				return Template{}, fmt.Errorf("{%s} is not known: choose of {%s}", name, strings.Join(names, "}, {"))
			}
			t.Texts, t.Names = append(t.Texts, literal.String()), append(t.Names, name)
			literal.Reset()
			rest = after
		case rest[0] == '}':
			return Template{}, errors.New("a } has no { before it; write }} for a brace")
		default:
			literal.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	t.Texts = append(t.Texts, literal.String())
	if text == "" {
		return Template{}, errors.New("is empty")
	}
	return t, nil
}

// ValueOf is what a placeholder of destinations stands for; "" where the event has none.
func ValueOf(name string, d *change.Delivery, e *change.Event) string {
	switch name {
	case "app":
		return d.App
	case "poller":
		return d.Poller
	case "op":
		return e.Op.String()
	}
	if e.Outbox == nil {
		return ""
	}
	switch name {
	case "aggregate_type":
		return e.Outbox.AggregateType
	case "aggregate_id":
		return e.Outbox.AggregateID
	default:
		return e.Outbox.EventType
	}
}
