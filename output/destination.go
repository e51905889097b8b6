package output

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
)

// Destinations say where an event goes: a topic, an exchange with a routing key, a queue (output__destination and
// output__destinations__<event_type>).
type Destinations struct {
	byDefault template
	byType    map[string]template // by event type, lower-cased; see ofType
}

// placeholders are what a destination's template may name.
var placeholders = []string{"app", "poller", "op", "aggregate_type", "aggregate_id", "event_type"}

// template is literal text and placeholders in turns: texts has one more than names.
type template struct {
	texts, names []string
}

// ParseDestinations reads the templates. A template is text with {app}, {poller}, {op}, {aggregate_type}, {aggregate_id} and
// {event_type}; {{ and }} are braces. Errors name what is wrong with which template.
func ParseDestinations(byDefault string, byType map[string]string) (Destinations, error) {
	d := Destinations{byType: make(map[string]template, len(byType))}
	var err error
	if d.byDefault, err = parseTemplate(byDefault); err != nil {
		return Destinations{}, fmt.Errorf("destination %q: %w", byDefault, err)
	}
	for eventType, text := range byType {
		if d.byType[strings.ToLower(eventType)], err = parseTemplate(text); err != nil {
			return Destinations{}, fmt.Errorf("destinations__%s %q: %w", eventType, text, err)
		}
	}
	return d, nil
}

func parseTemplate(text string) (template, error) {
	var t template
	var literal strings.Builder
	for rest := text; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			literal.WriteByte(rest[0])
			rest = rest[2:]
		case rest[0] == '{':
			name, after, ok := strings.Cut(rest[1:], "}")
			if !ok {
				return template{}, errors.New("a { has no } behind it; write {{ for a brace")
			}
			if !slices.Contains(placeholders, name) {
				return template{}, fmt.Errorf("{%s} is not known: choose of {%s}", name, strings.Join(placeholders, "}, {"))
			}
			t.texts, t.names = append(t.texts, literal.String()), append(t.names, name)
			literal.Reset()
			rest = after
		case rest[0] == '}':
			return template{}, errors.New("a } has no { before it; write }} for a brace")
		default:
			literal.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	t.texts = append(t.texts, literal.String())
	if text == "" {
		return template{}, errors.New("is empty")
	}
	return t, nil
}

// Of returns an event's destination: the values of its placeholders are lower-cased (seeds/004: Order goes to order.events),
// the template's own text stands as it is written, because brokers tell Orders from orders. A placeholder that has no value
// for this event is an error: such an event cannot be sent.
func (d *Destinations) Of(delivery *change.Delivery, e *change.Event) (string, error) {
	t := d.byDefault
	if e.Outbox != nil && len(d.byType) > 0 {
		if own, ok := d.ofType(e.Outbox.EventType); ok {
			t = own
		}
	}
	if len(t.names) == 0 {
		return t.texts[0], nil
	}
	var b strings.Builder
	for i, name := range t.names {
		value := valueOf(name, delivery, e)
		if value == "" {
			return "", fmt.Errorf("its destination needs {%s}, and the event has none", name)
		}
		b.WriteString(t.texts[i])
		b.WriteString(strings.ToLower(value))
	}
	b.WriteString(t.texts[len(t.texts)-1])
	return b.String(), nil
}

// ofType finds the template of an event type. A setting's name cannot hold every character, least of all a dot on Linux: there
// "_" stands for whatever is no letter, digit or "_" (order.placed is destinations__order_placed). The exact name wins.
func (d *Destinations) ofType(eventType string) (template, bool) {
	name := strings.ToLower(eventType)
	if t, ok := d.byType[name]; ok {
		return t, true
	}
	t, ok := d.byType[strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)]
	return t, ok
}

func valueOf(name string, d *change.Delivery, e *change.Event) string {
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
