package inspect

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/mode"
)

// object is a JSON object of a schema.
type object = map[string]any

// Schema is the JSON Schema (draft 7) of a body that an output sends, by the table as Check found it. Its types are
// those of docs/values.md, and never narrower than what a value may become.
func (p *Poller) Schema(out *config.Output) map[string]any {
	one := p.eventSchema(out)
	if out.Format == "sqltrigger" || out.Kind == "http" && out.Batch > 1 {
		one = object{"type": "array", "items": one}
	}
	one["$schema"] = "http://json-schema.org/draft-07/schema#"
	one["title"] = p.Config.Name
	return one
}

// AsyncAPI is an AsyncAPI 3.0 document of an output: where its events go, and what they are.
func (p *Poller) AsyncAPI(out *config.Output) map[string]any {
	name, address := p.Config.Name, destination(out)
	switch {
	case out.Kind == "http":
		if u, err := url.Parse(out.URL.String()); err == nil {
			address = u.Path
		}
	case out.Destination != "":
		address = out.Destination
	case out.Queue != "":
		address = out.Queue
	}
	channel := object{"messages": object{"event": object{"$ref": "#/components/messages/event"}}}
	parameters := object{}
	channel["address"] = inBraces.ReplaceAllStringFunc(address, func(placeholder string) string {
		plain := notInNames.ReplaceAllString(strings.Trim(placeholder, "{}"), "_")
		parameters[plain] = object{"description": "of the event"}
		return "{" + plain + "}"
	})
	if len(parameters) > 0 {
		channel["parameters"] = parameters
	}
	return object{
		"asyncapi": "3.0.0",
		"info": object{"title": name, "version": "1.0.0",
			"description": "What Rowrelay sends for the poller " + name + ". Delivery is at-least-once."},
		"channels":   object{name: channel},
		"operations": object{"send": object{"action": "send", "channel": object{"$ref": "#/channels/" + name}}},
		"components": object{"messages": object{"event": object{
			"name": name, "contentType": contentType(out), "payload": p.Schema(out),
		}}},
	}
}

var (
	inBraces   = regexp.MustCompile(`\{[^{}]+\}`)
	notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

func contentType(out *config.Output) string {
	switch {
	case out.Format != "cloudevents":
		return "application/json"
	case out.Kind == "http" && out.Batch > 1:
		return "application/cloudevents-batch+json"
	}
	return "application/cloudevents+json"
}

// eventSchema is that of one event in the output's format.
func (p *Poller) eventSchema(out *config.Output) object {
	row, key, ops := p.rowSchemas(out.Format == "sqltrigger")
	if out.JQ != "" || len(out.Columns)+len(out.Mask)+len(out.Constants) > 0 {
		row = object{} // what the settings make of a row is not known
	}
	switch out.Format {
	case "row":
		return p.orKey(row, key)
	case "cloudevents_binary":
		return p.orKey(row, key)
	case "payload":
		return object{}
	case "sqltrigger":
		return shape(object{"Operation": object{"type": "integer", "enum": []int{0, 1, 2}}, "Item": anyOf(row, key)},
			"Operation", "Item")
	case "rowchange":
		before := none
		if p.Config.Source.BeforeImage {
			before = anyOf(row, none)
		}
		return shape(object{
			"event_id": text, "op": words(ops...), "cursor": object{"type": []string{"string", "null"}}, "pk": key,
			"source": shape(object{"name": text, "kind": text, "fingerprint": text}, "name", "kind", "fingerprint"),
			"before": before, "after": anyOf(row, none),
			"metadata": object{"type": "object", "properties": object{
				"poller": text, "key_hash": text, "batch_id": text, "fencing_token": text, "delivery": text,
				"attempt": object{"type": "integer"}, "changed": object{"type": "array", "items": text}, "context": text,
			}},
		}, "event_id", "op", "source", "cursor", "pk", "before", "after", "metadata")
	}
	members := object{
		"specversion": words("1.0"), "type": text, "source": text, "id": text, "subject": text, "time": text,
		"datacontenttype": text, "rowrelaypoller": text, "rowrelaykeyhash": text, "rowrelaycursor": text,
		"rowrelaychanged": text, "rowrelaycontext": text, "rowrelaybatch": text, "rowrelaytoken": text,
		"rowrelaydelivery": text, "rowrelayattempt": object{"type": "integer"}, "rowrelaybackfill": text,
	}
	need := []string{"specversion", "type", "source", "id", "rowrelaypoller", "rowrelaykeyhash"}
	if p.Publishes() { // the payload is its writer's, and may be missing
		for _, name := range []string{"partitionkey", "idempotencykey", "traceparent", "tracestate", "data_base64"} {
			members[name] = text
		}
		members["data"] = object{}
		return shape(members, need...)
	}
	if out.Type == "" {
		types := slices.Clone(ops)
		for i := range types {
			types[i] = "rowrelay.row." + types[i]
		}
		members["type"] = words(types...)
	}
	members["data"] = p.orKey(row, key)
	return shape(members, append(need, "datacontenttype", "data")...)
}

// rowSchemas are those of a row and of its key, and what may happen to a row. numbers says that what no JSON number
// holds in full is one all the same, as the Azure SQL trigger writes it.
func (p *Poller) rowSchemas(numbers bool) (row, key object, ops []string) {
	if p.Publishes() {
		return shape(object{
			"aggregate_type": text, "aggregate_id": text, "event_type": text, "payload": object{}, "payload_encoding": text,
			"created_at": object{"type": []string{"string", "null"}}, "idempotency_key": text,
		}, "aggregate_type", "aggregate_id", "event_type", "payload"), object{"type": "object"}, []string{"upsert"}
	}
	ops = []string{"upsert", "delete"}
	if p.Config.Source.Mode.Can(mode.Triggers) {
		ops = []string{"insert", "update", "delete"}
		if wanted := p.Config.Source.Operations; len(wanted) > 0 {
			ops = wanted
		}
	}
	return p.columns(p.Table.Catalog, numbers), p.columns(p.Table.KeyColumns, numbers), ops
}

// orKey is what an event carries: with change tracking a delete has its key only, unless every change is told.
func (p *Poller) orKey(row, key object) object {
	switch {
	case p.Config.Source.BeforeImage:
		return shape(object{"before": anyOf(row, none), "after": anyOf(row, none)}, "before", "after")
	case p.Config.Source.Mode.Can(mode.Triggers) && !p.Config.Source.EveryChange:
		return anyOf(row, key)
	}
	return row
}

func (p *Poller) columns(list []engine.Column, numbers bool) object {
	properties, names := object{}, make([]string, 0, len(list))
	for i := range list {
		properties[list[i].Name] = columnSchema(&list[i], p.Table.Engine == "sqlite", numbers)
		names = append(names, list[i].Name)
	}
	return shape(properties, names...)
}

// columnSchema is that of a value. loose says that a column may hold values of another type than it declares (SQLite);
// numbers: see rowSchemas.
func columnSchema(c *engine.Column, loose, numbers bool) object {
	var types []string
	s := object{"description": c.Type}
	switch c.Value.Kind {
	case engine.KindJSON, engine.KindNone:
		return s
	case engine.KindBool:
		types = []string{"boolean"}
	case engine.KindInteger:
		types = []string{"integer", "string"} // a string beyond 2^53
	case engine.KindFloat:
		types = []string{"number", "string"} // "NaN", "Infinity"
	case engine.KindBinary:
		types, s["contentEncoding"] = []string{"string"}, "base64"
	default:
		types = []string{"string"}
	}
	numbers = numbers && (c.Value.Kind == engine.KindInteger || c.Value.Kind == engine.KindDecimal)
	if numbers || loose && c.Value.Kind != engine.KindBinary {
		types = slices.DeleteFunc(append(types, "number", "string"), func(t string) bool { return t == "integer" })
		slices.Sort(types)
		types = slices.Compact(types)
	}
	if c.Nullable {
		types = append(types, "null")
	}
	if s["type"] = types; len(types) == 1 {
		s["type"] = types[0]
	}
	return s
}

var text, none = object{"type": "string"}, object{"type": "null"}

func shape(properties object, need ...string) object {
	return object{"type": "object", "properties": properties, "required": need}
}

func words(list ...string) object { return object{"type": "string", "enum": list} }

func anyOf(schemas ...any) object { return object{"anyOf": schemas} }

// Unknown is why no schema can be made of what Check found; nil where one can.
func (p *Poller) Unknown() error {
	if len(p.Table.Catalog) > 0 || p.Publishes() {
		return nil
	}
	return fmt.Errorf("the columns of %s are not known: %s", p.Config.Name, strings.Join(append(p.Faults, p.Broken), "; "))
}
