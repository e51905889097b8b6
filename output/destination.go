package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
)

// Destinations say where an event goes: a topic, an exchange with a routing key, a queue (output__destination and
// output__destinations__<event_type>).
type Destinations struct {
	// KeepCase leaves the values of placeholders as they are (output__destination_case=keep); else Order goes to
	// order.events.
	KeepCase bool

	byDefault template
	byType    map[string]template // by event type, lower-cased; see ofType
}

// placeholders are what a destination's template may name.
var placeholders = []string{"app", "poller", "op", "aggregate_type", "aggregate_id", "event_type"}

// template is a destination's.
type template struct {
	Template
	// slash is the first of Texts that holds a "/"; -1 where none does.
	slash int
}

// ParseDestinations reads the templates. A template is text with {app}, {poller}, {op}, {aggregate_type},
// {aggregate_id} and {event_type}; {{ and }} are braces. Errors name what is wrong with which template.
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
	t, err := ParseTemplate(text, placeholders, nil)
	if err != nil {
		return template{}, err
	}
	return template{t, slices.IndexFunc(t.Texts, func(literal string) bool { return strings.Contains(literal, "/") })}, nil
}

// Of returns an event's destination: the values of its placeholders are lower-cased, unless KeepCase is set, and the
// template's own text stands as it is written, because brokers tell Orders from orders. A placeholder that has no value
// for this event is an error: such an event cannot be sent.
func (d *Destinations) Of(delivery *change.Delivery, e *change.Event) (string, error) {
	text, _, err := d.expand(delivery, e)
	return text, err
}

// Cut is Of in two parts: what stands before and after the first "/" that the template itself holds; without one,
// found is false, and all is before. What a row holds cannot move the cut: a "/" in a value stays in the second part,
// and in the first one it is an error.
func (d *Destinations) Cut(delivery *change.Delivery, e *change.Event) (before, after string, found bool, err error) {
	text, slash, err := d.expand(delivery, e)
	if err != nil || slash < 0 {
		return text, "", false, err
	}
	before, after = text[:slash], text[slash+1:]
	if strings.Contains(before, "/") {
		return "", "", false, fmt.Errorf("its destination begins with %.300q, and a value must not bring a / into that",
			before)
	}
	return before, after, true, nil
}

func (d *Destinations) of(e *change.Event) *template {
	if e.Outbox != nil && len(d.byType) > 0 {
		if own, ok := d.ofType(e.Outbox.EventType); ok {
			return &own
		}
	}
	return &d.byDefault
}

// expand returns the text, and where in it the template's own first "/" is; -1 for none.
func (d *Destinations) expand(delivery *change.Delivery, e *change.Event) (text string, slash int, err error) {
	t := d.of(e)
	if len(t.Names) == 0 {
		return t.Texts[0], strings.IndexByte(t.Texts[0], '/'), nil
	}
	slash = -1
	var b strings.Builder
	for i, literal := range t.Texts {
		if i == t.slash {
			slash = b.Len() + strings.IndexByte(literal, '/')
		}
		b.WriteString(literal)
		if i == len(t.Names) {
			break
		}
		value := ValueOf(t.Names[i], delivery, e)
		if value == "" {
			return "", -1, fmt.Errorf("its destination needs {%s}, and the event has none", t.Names[i])
		}
		if !d.KeepCase {
			value = strings.ToLower(value)
		}
		b.WriteString(value)
	}
	return b.String(), slash, nil
}

// ofType finds the template of an event type. A setting's name cannot hold every character, least of all a dot on
// Linux: there "_" stands for whatever is no letter, digit or "_" (order.placed is destinations__order_placed). The
// exact name wins.
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
