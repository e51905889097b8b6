package publisher

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/poller"
)

// seedColumns are the columns of the seed's table on PostgreSQL.
func seedColumns() []tableColumn {
	list := []tableColumn{
		{"id", "bigint", 0, false}, {"aggregate_type", "character varying(255)", 0, false}, {"aggregate_id", "character varying(255)", 0, false},
		{"event_type", "character varying(255)", 0, false}, {"payload", "text", 0, false}, {"created_at", "timestamp without time zone", 0, false},
		{"published", "boolean", 0, false}, {"published_at", "timestamp without time zone", 0, true}, {"retry_count", "integer", 0, false},
		{"idempotency_key", "character varying(255)", 0, false},
	}
	return kinds("postgres", list)
}

func kinds(engine string, list []tableColumn) []tableColumn {
	for i := range list {
		list[i].kind = kinder[engine](list[i].typ)
	}
	return list
}

func resolveOn(columns []tableColumn, settings map[string]string) (layout, error) {
	m, err := parseMapping(settings)
	if err != nil {
		return layout{}, err
	}
	m.textTimes = false
	return m.resolve("public.outbox", columns)
}

// TestMappingFaults: each names the setting, and says what to write.
func TestMappingFaults(t *testing.T) {
	without := func(name string) []tableColumn {
		var list []tableColumn
		for _, c := range seedColumns() {
			if c.name != name {
				list = append(list, c)
			}
		}
		return list
	}
	for _, c := range []struct {
		name     string
		columns  []tableColumn
		settings map[string]string
		want     []string // parts of the message
	}{
		{"an unknown role", seedColumns(), map[string]string{"aggregate": "x"}, []string{"source__map__aggregate is not known", "aggregate_type", "on_published"}},
		{"an empty value", seedColumns(), map[string]string{"id": " "}, []string{"source__map__id is empty"}},
		{"an unknown choice", seedColumns(), map[string]string{"on_published": "keep"}, []string{"source__map__on_published=keep", "mark or delete"}},
		{"no id", seedColumns(), map[string]string{"id": "none"}, []string{"source__map__id=none"}},
		{"a column that is not there", seedColumns(), map[string]string{"event_type": "kind"},
			[]string{"source__map__event_type=kind", "public.outbox has no such column", "id, aggregate_type", "name one of them"}},
		{"a column that is needed", without("aggregate_id"), nil, []string{`has no column "aggregate_id"`, "set source__map__aggregate_id", "none"}},
		{"two of one name", append(seedColumns(), tableColumn{"ID", "bigint", kindInteger, false}), map[string]string{"id": "Id"}, []string{`"id" or "ID"`}},
		{"a state without its values", append(seedColumns(), tableColumn{"status", "text", kindText, false}), map[string]string{"state": "status"},
			[]string{"source__map__state=status needs source__map__pending"}},
		{"a state without the value of done", append(seedColumns(), tableColumn{"status", "text", kindText, false}),
			map[string]string{"state": "status", "pending": "NEW"}, []string{"source__map__done", "source__map__on_published=delete"}},
		{"values without a state", seedColumns(), map[string]string{"pending": "NEW", "done": "SENT"}, []string{"source__map__pending=NEW", "set source__map__state"}},
		{"one value for both", seedColumns(), map[string]string{"pending": "x", "done": "x"}, []string{"source__map__pending", "source__map__done", `"x"`}},
		{"a value with a quote", seedColumns(), map[string]string{"pending": "x' OR 1=1"}, []string{"source__map__pending holds a quote"}},
		{"a text for a number", append(seedColumns(), tableColumn{"status", "integer", kindInteger, false}),
			map[string]string{"state": "status", "pending": "new", "done": "1"}, []string{"source__map__pending=new is no number"}},
		{"deleted and marked", seedColumns(), map[string]string{"on_published": "delete", "done": "x"}, []string{"source__map__on_published=delete", "source__map__done"}},
		{"no mark", without("published"), map[string]string{"published_at": "none"}, []string{"no column that says what was published", "source__map__on_published=delete"}},
		{"one column for two marks", seedColumns(), map[string]string{"published": "retry_count", "attempts": "retry_count"}, []string{"name the same column"}},
		{"a type that cannot be", seedColumns(), map[string]string{"seq": "payload"}, []string{"source__map__seq", "payload is text", "an integer"}},
		{"an order that may be NULL", append(seedColumns(), tableColumn{"n", "bigint", kindInteger, true}), map[string]string{"seq": "n"},
			[]string{"source__map__seq", "n may be NULL"}},
		{"no order", without("created_at"), map[string]string{"id": "idempotency_key"}, []string{"in which order", "source__map__seq", "source__map__created_at"}},
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
	if l.seq == nil || l.seq.name != "id" || l.attempts == nil || l.attempts.name != "retry_count" || l.key == nil || l.published == nil || l.state != nil ||
		len(l.warnings) != 0 {
		t.Errorf("%+v", l)
	}
	l, err = resolveOn(seedColumns(), map[string]string{"seq": "none", "idempotency_key": "none", "attempts": "none", "event_type": "EVENT_TYPE"})
	if err != nil {
		t.Fatal(err)
	}
	if l.seq != nil || l.key != nil || l.attempts != nil || l.eventType.name != "event_type" || len(l.warnings) != 1 || !strings.Contains(l.warnings[0], "no sure order") {
		t.Errorf("%+v", l)
	}
	l, err = resolveOn(append(seedColumns(), tableColumn{"err", "text", kindText, true}), map[string]string{"last_error": "err"})
	if err != nil || len(l.warnings) != 1 || !strings.Contains(l.warnings[0], "source__map__last_error=err has no effect") {
		t.Errorf("%+v, %v", l.warnings, err)
	}
}

func TestKindsOfTypes(t *testing.T) {
	for _, c := range []struct {
		engine string
		kinds  map[string]columnKind
	}{
		{"postgres", map[string]columnKind{"bigint": kindInteger, "uuid": kindUUID, "character varying(36)": kindText, "jsonb": kindJSON, "bytea": kindBytes,
			"timestamp with time zone": kindTime, "boolean": kindBool, "bit(1)": kindOther, "numeric(10,2)": kindOther, "enum": kindText, "bigint[]": kindOther}},
		{"mysql", map[string]columnKind{"bigint(20) unsigned": kindInteger, "tinyint(1)": kindInteger, "bit(1)": kindBool, "char(36)": kindText, "binary(16)": kindBytes,
			"datetime(6)": kindTime, "timestamp": kindTime, "longtext": kindText, "json": kindJSON, "enum('NEW','SENT')": kindText, "uuid": kindUUID}},
		{"sqlserver", map[string]columnKind{"bigint": kindInteger, "uniqueidentifier": kindUUID, "nvarchar(max)": kindText, "bit": kindBool, "datetime2(7)": kindTime,
			"datetimeoffset(7)": kindTime, "varbinary(16)": kindBytes, "timestamp": kindOther, "rowversion": kindOther}},
		{"sqlite", map[string]columnKind{"INTEGER": kindInteger, "BIGINT": kindInteger, "VARCHAR(255)": kindText, "BOOLEAN": kindBool, "TIMESTAMP": kindTime,
			"JSON": kindJSON, "BLOB": kindBytes, "uuid": kindText}},
	} {
		for typ, want := range c.kinds {
			if got := kinder[c.engine](typ); got != want {
				t.Errorf("%s %s: %d, want %d", c.engine, typ, got, want)
			}
		}
	}
}

var kinder = map[string]func(string) columnKind{"postgres": pgTables{}.kind, "mysql": myTables{}.kind, "sqlite": liteTables{}.kind, "sqlserver": msTables{}.kind}
