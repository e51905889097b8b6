package mapping

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/poller"
)

// seedColumns are the columns of the seed's table on PostgreSQL.
func seedColumns() []column.Column {
	list := []column.Column{
		{Name: "id", Type: "bigint", Kind: 0, Nullable: false},
		{Name: "aggregate_type", Type: "character varying(255)", Kind: 0, Nullable: false},
		{Name: "aggregate_id", Type: "character varying(255)", Kind: 0, Nullable: false},
		{Name: "event_type", Type: "character varying(255)", Kind: 0, Nullable: false},
		{Name: "payload", Type: "text", Kind: 0, Nullable: false},
		{Name: "created_at", Type: "timestamp without time zone", Kind: 0, Nullable: false},
		{Name: "published", Type: "boolean", Kind: 0, Nullable: false},
		{Name: "published_at", Type: "timestamp without time zone", Kind: 0, Nullable: true},
		{Name: "retry_count", Type: "integer", Kind: 0, Nullable: false},
		{Name: "idempotency_key", Type: "character varying(255)", Kind: 0, Nullable: false},
	}
	return kinds("postgres", list)
}

func kinds(engine string, list []column.Column) []column.Column {
	for i := range list {
		list[i].Kind = kinder[engine](list[i].Type)
	}
	return list
}

func resolveOn(columns []column.Column, settings map[string]string) (Layout, error) {
	return Read(settings, "public.outbox", columns, false)
}

// TestMappingFaults: each names the setting, and says what to write.
func TestMappingFaults(t *testing.T) {
	without := func(name string) []column.Column {
		var list []column.Column
		for _, c := range seedColumns() {
			if c.Name != name {
				list = append(list, c)
			}
		}
		return list
	}
	for _, c := range []struct {
		name     string
		columns  []column.Column
		settings map[string]string
		want     []string // parts of the message
	}{
		{"an unknown role", seedColumns(), map[string]string{"aggregate": "x"},
			[]string{"source__map__aggregate is not known", "aggregate_type", "on_published"}},
		{"an empty value", seedColumns(), map[string]string{"id": " "}, []string{"source__map__id is empty"}},
		{"an unknown choice", seedColumns(), map[string]string{"on_published": "keep"},
			[]string{"source__map__on_published=keep", "mark or delete"}},
		{"no id", seedColumns(), map[string]string{"id": "none"}, []string{"source__map__id=none"}},
		{"a column that is not there", seedColumns(), map[string]string{"event_type": "kind"},
			[]string{"source__map__event_type=kind", "public.outbox has no such column", "id, aggregate_type",
				"name one of them"}},
		{"a column that is needed", without("aggregate_id"), nil,
			[]string{`has no column "aggregate_id"`, "set source__map__aggregate_id", "none"}},
		{"two of one name", append(seedColumns(),
			column.Column{Name: "ID", Type: "bigint", Kind: column.Integer,
				Nullable: false}), map[string]string{"id": "Id"}, []string{`"id" or "ID"`}},
		{"a state without its values",
			append(seedColumns(), column.Column{Name: "status", Type: "text", Kind: column.Text, Nullable: false}),
			map[string]string{"state": "status"},
			[]string{"source__map__state=status needs source__map__pending"}},
		{"a state without the value of done",
			append(seedColumns(), column.Column{Name: "status", Type: "text", Kind: column.Text, Nullable: false}),
			map[string]string{"state": "status", "pending": "NEW"},
			[]string{"source__map__done", "source__map__on_published=delete"}},
		{"values without a state", seedColumns(), map[string]string{"pending": "NEW", "done": "SENT"},
			[]string{"source__map__pending=NEW", "set source__map__state"}},
		{"one value for both", seedColumns(), map[string]string{"pending": "x", "done": "x"},
			[]string{"source__map__pending", "source__map__done", `"x"`}},
		{"a value with a quote", seedColumns(), map[string]string{"pending": "x' OR 1=1"},
			[]string{"source__map__pending holds a quote"}},
		{"a text for a number", append(seedColumns(),
			column.Column{Name: "status", Type: "integer", Kind: column.Integer, Nullable: false}),
			map[string]string{"state": "status", "pending": "new", "done": "1"},
			[]string{"source__map__pending=new is no number"}},
		{"deleted and marked", seedColumns(), map[string]string{"on_published": "delete", "done": "x"},
			[]string{"source__map__on_published=delete", "source__map__done"}},
		{"no mark", without("published"), map[string]string{"published_at": "none"},
			[]string{"no column that says what was published", "source__map__on_published=delete"}},
		{"one column for two marks", seedColumns(), map[string]string{"published": "retry_count", "attempts": "retry_count"},
			[]string{"name the same column"}},
		{"a type that cannot be", seedColumns(), map[string]string{"seq": "payload"},
			[]string{"source__map__seq", "payload is text", "an integer"}},
		{"an order that may be NULL", append(seedColumns(),
			column.Column{Name: "n", Type: "bigint", Kind: column.Integer, Nullable: true}), map[string]string{"seq": "n"},
			[]string{"source__map__seq", "n may be NULL"}},
		{"no order", without("created_at"), map[string]string{"id": "idempotency_key"},
			[]string{"in which order", "source__map__seq", "source__map__created_at"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := resolveOn(c.columns, c.settings)
			if !errors.Is(err, poller.ErrConfig) {
				t.Fatalf("got %v, not a fault of the configuration", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestMappingDefaults(t *testing.T) {
	l, err := resolveOn(seedColumns(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if l.Seq == nil || l.Seq.Name != "id" || l.Attempts == nil || l.Attempts.Name != "retry_count" || l.Key == nil ||
		l.Published == nil || l.State != nil ||
		len(l.Warnings) != 0 {
		t.Errorf("%+v", l)
	}
	l, err = resolveOn(seedColumns(),
		map[string]string{"seq": "none", "idempotency_key": "none", "attempts": "none", "event_type": "EVENT_TYPE"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Seq != nil || l.Key != nil || l.Attempts != nil || l.EventType.Name != "event_type" || len(l.Warnings) != 1 ||
		!strings.Contains(l.Warnings[0], "no sure order") {
		t.Errorf("%+v", l)
	}
	l, err = resolveOn(append(seedColumns(), column.Column{Name: "err", Type: "text", Kind: column.Text, Nullable: true}),
		map[string]string{"last_error": "err"})
	if err != nil || len(l.Warnings) != 1 ||
		!strings.Contains(l.Warnings[0], "source__map__last_error=err has no effect") {
		t.Errorf("%+v, %v", l.Warnings, err)
	}
}

func TestKindsOfTypes(t *testing.T) {
	for _, c := range []struct {
		engine string
		kinds  map[string]column.Kind
	}{
		{"postgres", map[string]column.Kind{"bigint": column.Integer, "uuid": column.UUID,
			"character varying(36)": column.Text, "jsonb": column.JSON, "bytea": column.Bytes,
			"timestamp with time zone": column.Time, "boolean": column.Bool, "bit(1)": column.Other,
			"numeric(10,2)": column.Other, "ext.citext": column.Text,
			"bigint[]": column.Other}},
		{"mysql", map[string]column.Kind{"bigint(20) unsigned": column.Integer, "tinyint(1)": column.Integer,
			"bit(1)": column.Bool, "char(36)": column.Text, "binary(16)": column.Bytes,
			"datetime(6)": column.Time, "timestamp": column.Time, "longtext": column.Text, "json": column.JSON,
			"enum('NEW','SENT')": column.Text, "uuid": column.UUID}},
		{"sqlserver", map[string]column.Kind{"bigint": column.Integer, "uniqueidentifier": column.UUID,
			"nvarchar(max)": column.Text, "bit": column.Bool, "datetime2(7)": column.Time,
			"datetimeoffset(7)": column.Time, "varbinary(16)": column.Bytes,
			"rowversion": column.Other}},
		{"sqlite", map[string]column.Kind{"INTEGER": column.Integer, "BIGINT": column.Integer, "VARCHAR(255)": column.Text,
			"BOOLEAN": column.Bool, "TIMESTAMP": column.Time,
			"JSON": column.JSON, "BLOB": column.Bytes, "uuid": column.Text}},
	} {
		for typ, want := range c.kinds {
			if got := kinder[c.engine](typ); got != want {
				t.Errorf("%s %s: %d, want %d", c.engine, typ, got, want)
			}
		}
	}
}

var kinder = map[string]func(string) column.Kind{"postgres": postgres.KindOf, "mysql": column.KindOf,
	"sqlite": sqlite.KindOf, "sqlserver": column.KindOf}
