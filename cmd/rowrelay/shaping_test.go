package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// hook is a receiver that keeps bodies by their Idempotency-Key, and can refuse.
type hook struct {
	*httptest.Server

	t *testing.T

	mu     sync.Mutex
	status func(body string) int
	bodies []string
	byKey  map[string]string
}

func newHook(t *testing.T) *hook {
	h := &hook{t: t, status: func(string) int { return http.StatusOK }, byKey: map[string]string{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		data, _ := io.ReadAll(q.Body)
		body, key := string(data), q.Header.Get("Idempotency-Key")
		h.mu.Lock()
		defer h.mu.Unlock()
		if before, again := h.byKey[key]; again && before != body {
			t.Errorf("%s came with another body:\n%s\n%s", key, before, body)
		}
		h.byKey[key] = body
		status := h.status(body)
		if w.WriteHeader(status); status == http.StatusOK {
			h.bodies = append(h.bodies, body)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// took are the bodies that were accepted since the last call.
func (h *hook) took() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	bodies := h.bodies
	h.bodies = nil
	slices.Sort(bodies)
	return bodies
}

// TestShaping goes all the way on each engine: columns, masks, constants and a program; digit by digit; a repetition
// has
// the same body; what is filtered is not sent; what cannot be made is given up with its row, and sent when the program
// is mended, read again or as it was recorded.
func TestShaping(t *testing.T) {
	for engine, c := range map[string]struct{ connection, types string }{
		"sqlite":   {newFile(t), "n BIGINT, d TEXT"},
		"postgres": {testenv.Postgres(t), "n bigint, d numeric(40,12)"},
		"mysql":    {testenv.MySQL(t), "n bigint, d decimal(40,12)"},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Chdir(t.TempDir())
			runSQL(t, c.connection, `CREATE TABLE orders (id INTEGER PRIMARY KEY, email VARCHAR(80), card VARCHAR(80), `+c.types+`)`,
				`INSERT INTO orders VALUES (1, 'ada@example.com', '4111111111111234', 9223372036854775807, 12345678901234567890.123456789000)`,
				`INSERT INTO orders VALUES (2, 'bob@example.com', 'short', 1, 0)`,
				`INSERT INTO orders VALUES (3, 'cleo@example.com', '4111111111115678', 2, 0.5)`)
			if engine == "sqlite" { // which has no such decimals
				runSQL(t, c.connection, `UPDATE orders SET d = '12345678901234567890.123456789000' WHERE id = 1`)
			}
			to := newHook(t)
			environ := ordersOf(c.connection, "pollers__orders__source__cursor=id", "pollers__orders__output__kind=http",
				"pollers__orders__output__url="+to.URL, "pollers__orders__output__format=row", "pollers__orders__output__batch=1",
				"pollers__orders__output__columns=*, -email, d as amount", "pollers__orders__output__mask__card=last4",
				"pollers__orders__output__constants__region=eu", "pollers__orders__max_attempts=1",
				`pollers__orders__output__jq=select(.row.card != "***") | .row | .amount |= tonumber | if .n == 3 then .n + [] else . end`)
			busy := true
			to.status = func(string) int {
				if busy = !busy; busy {
					return http.StatusOK
				}
				return http.StatusServiceUnavailable // each request is repeated once
			}
			out, errs, err := sampled(t, environ, "check", "orders")
			for _, want := range []string{"ada@example.com", `sent as`, `"card":"***1234"`, "not sent"} {
				if err != nil || !strings.Contains(out, want) {
					t.Errorf("check does not say %s: %v\n%s%s", want, err, out, errs)
				}
			}
			if out, errs, err := sampled(t, environ, "run", "--once"); err != nil || !strings.Contains(out, `"filtered":1`) {
				t.Fatal(err, out, errs)
			}
			half := "0.5"
			if engine != "sqlite" {
				half = "0.500000000000"
			}
			if got, want := to.took(), []string{
				`{"amount":` + half + `,"card":"***5678","id":3,"n":2,"region":"eu"}`,
				`{"amount":12345678901234567890.123456789000,"card":"***1234","id":1,"n":"9223372036854775807","region":"eu"}`,
			}; !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}

			to.status = func(string) int { return http.StatusOK }
			runSQL(t, c.connection, `INSERT INTO orders VALUES (4, 'dan@example.com', '4111111111119999', 3, 7)`,
				`INSERT INTO orders VALUES (5, 'eve@example.com', '4111111111110000', 3, 8)`)
			if _, errs, err := sampled(t, environ, "run", "--once"); err != nil || len(to.took()) > 0 {
				t.Error("an event that the program fails for:", err, errs)
			}
			listed, errs, err := sampled(t, environ, "deadletter", "list", "orders", "--json")
			if err != nil || strings.Count(listed, "output__jq: cannot add: number …") != 2 {
				t.Fatal(err, errs, listed)
			}
			mended := with(environ, `pollers__orders__output__jq=.row | {id, card}`)
			for i, args := range [][]string{{"--as-recorded"}, nil} {
				listed, _, _ := sampled(t, environ, "deadletter", "list", "orders", "--json")
				var letter struct{ ID string }
				if err := json.NewDecoder(strings.NewReader(listed)).Decode(&letter); err != nil || strings.Count(listed,
					"\n") != 2-i {
					t.Fatal(err, listed)
				}
				args = append([]string{"deadletter", "replay", "orders", letter.ID, "--yes"}, args...)
				if _, errs, err := sampled(t, mended, args...); err != nil {
					t.Fatal(err, errs)
				}
				if _, errs, err := sampled(t, mended, "run", "--once"); err != nil {
					t.Fatal(err, errs)
				}
			}
			if got, want := to.took(), []string{`{"card":"***0000","id":5}`, `{"card":"***9999","id":4}`}; !slices.Equal(got,
				want) {
				t.Errorf("replayed %q, want %q", got, want)
			}
			if out, _, err := sampled(t, mended, "test-event", "orders", "--yes"); err != nil ||
				!slices.Equal(to.took(), []string{`{"card":"***1234","id":1}`}) || strings.Contains(out, "4111") {
				t.Error("test-event:", err, out)
			}
		})
	}
}

// TestShapingOfSettingsAtFault: what is wrong in itself is told before anything runs, what does not fit the table by
// check and by the tick, which sends nothing.
func TestShapingOfSettingsAtFault(t *testing.T) {
	t.Chdir(t.TempDir())
	connection, to := newFile(t), newHook(t)
	runSQL(t, connection, `CREATE TABLE orders (id INTEGER PRIMARY KEY, email TEXT)`,
		`INSERT INTO orders VALUES (1, 'ada@example.com')`)
	for setting, word := range map[string]string{
		"jq=.row |":             "pollers__orders__output__jq: is no jq program",
		"jq=now":                "pollers__orders__output__jq: calls now",
		"columns=email, -EMAIL": "pollers__orders__output__columns: names EMAIL twice",
		"mask__emial=redact":    "output__mask__emial",
		"mask__id=hash":         "id is a column of the key",
		"mask__email=shown":     "mask__email",
		"columns=nobody":        "no column nobody",
	} {
		environ := ordersOf(connection, "pollers__orders__source__cursor=id", "pollers__orders__output__kind=http",
			"pollers__orders__output__url="+to.URL, "pollers__orders__output__"+setting)
		for _, args := range [][]string{{"check", "orders"}, {"run", "--once"}} {
			out, errs, err := sampled(t, environ, args...)
			if err == nil || !strings.Contains(out+errs+err.Error(), word) {
				t.Errorf("%s: %s does not say %q: %v\n%s%s", setting, args[0], word, err, out, errs)
			}
		}
	}
	if got := to.took(); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
	if out, _, err := sampled(t, ordersOf(connection, "pollers__orders__source__cursor=id",
		"pollers__orders__output__jq=.row"),
		"schema", "orders"); err != nil || strings.Contains(out, "email") {
		t.Error("the schema of what a program makes:", err, out)
	}
}

// TestShapingOfChanges: inserts, updates and deletes in the format of the SQL trigger, whose numbers keep their form
// with
// and without a program. A delete has its key, and is filtered like any other.
func TestShapingOfChanges(t *testing.T) {
	connection := testenv.Postgres(t)
	runSQL(t, connection, `CREATE TABLE orders (id bigint PRIMARY KEY, total numeric(30,2), day date, email text)`)
	environ := ordersOf(connection, "pollers__orders__source__mode=changetracking",
		"pollers__orders__output__format=sqltrigger",
		"pollers__orders__source__start=snapshot")
	if _, errs, err := sampled(t, environ, "track", "install", "orders", "--apply", "--yes"); err != nil {
		t.Fatal(err, errs)
	}
	runSQL(t, connection, `INSERT INTO orders VALUES (9223372036854775807, 12345678901234567890.10, '2026-04-07', 'a@b'), (2, 5, NULL, 'c')`)
	for _, c := range []struct {
		setting, change string
		want            []string
	}{
		{"columns=total as sum, id, day", `UPDATE orders SET total = 6 WHERE id = 2`, []string{
			`[{"Operation":0,"Item":{"id":9223372036854775807,"sum":12345678901234567890.10,"day":"2026-04-07T00:00:00"}}]`,
			`[{"Operation":0,"Item":{"id":2,"sum":5.00,"day":null}}]`,
			`[{"Operation":1,"Item":{"id":2,"sum":6.00,"day":null}}]`}},
		{"jq=.row | {id, total, day}", `UPDATE orders SET total = 7 WHERE id = 2`, []string{
			`[{"Operation":0,"Item":{"day":"2026-04-07T00:00:00","id":9223372036854775807,"total":12345678901234567890.10}}]`,
			`[{"Operation":0,"Item":{"day":null,"id":2,"total":6.00}}]`,
			`[{"Operation":1,"Item":{"day":null,"id":2,"total":7.00}}]`}},
		{`jq=select(.op != "insert") | .row`, `UPDATE orders SET total = 5 WHERE id = 2`, []string{
			`[{"Operation":1,"Item":{"day":null,"email":"c","id":2,"total":5.00}}]`}},
		{"mask__email=redact", `DELETE FROM orders WHERE id = 2`, []string{
			`[{"Operation":0,"Item":{"id":9223372036854775807,"total":12345678901234567890.10,"day":"2026-04-07T00:00:00","email":"***"}}]`,
			`[{"Operation":0,"Item":{"id":2,"total":5.00,"day":null,"email":"***"}}]`, `[{"Operation":2,"Item":{"id":2}}]`}},
		{`jq=select(.op != "delete") | {n: .row.total}`, `DELETE FROM orders`, []string{
			`[{"Operation":0,"Item":{"n":12345678901234567890.10}}]`}},
	} {
		t.Chdir(t.TempDir()) // a poller that begins anew
		var got []string
		for _, statement := range []string{"", c.change} {
			if statement != "" {
				runSQL(t, connection, statement)
			}
			out, errs, err := sampled(t, with(environ, "pollers__orders__output__"+c.setting), "run", "--once")
			if err != nil {
				t.Fatal(c.setting, err, errs)
			}
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "[{") {
					got = append(got, strings.TrimSpace(line))
				}
			}
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.setting, got, c.want)
		}
	}
}

// TestShapingOfAnOutbox: through a real broker, in the order of the aggregate, with the headers of the row.
func TestShapingOfAnOutbox(t *testing.T) {
	t.Chdir(t.TempDir())
	connection := testenv.Postgres(t)
	url, prefix := testenv.RabbitMQ(t)
	environ := []string{"DB=" + connection, "BROKER=" + url, "state__create=true",
		"pollers__events__source__connection=DB",
		"pollers__events__source__mode=outbox", "pollers__events__source__table=outbox",
		"pollers__events__output__kind=rabbitmq",
		"pollers__events__output__connection=BROKER", "pollers__events__output__destination=" + prefix + "q",
		"pollers__events__output__mask__email=redact",
		`pollers__events__output__jq=select(.event.event_type != "Noise") | .event.payload + {type: .event.event_type}`,
		"pollers__events__poll_interval=0s", "pollers__events__max_attempts=1", "pollers__events__after_dead_letter=release"}
	if out, errs, err := sampled(t, environ, "outbox", "init", "events", "--apply"); err != nil {
		t.Fatal(err, out, errs)
	}
	for i, event := range [][2]string{{"Placed", `{"n": 12345678901234567890.10, "email": "ada@example.com"}`}, {"Noise",
		`{"n": 1}`},
		{"Broken", `[1]`}, {"Paid", `{"n": 2}`}} {
		runSQL(t, connection, fmt.Sprintf(`INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) `+
			`VALUES ('Order', '42', '%s', '%s', 'k-%d')`, event[0], event[1], i))
	}
	for range 3 {
		if _, errs, err := sampled(t, environ, "run", "--once"); err != nil {
			t.Fatal(err, errs)
		}
	}
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // a test's
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		message, ok, err := channel.Get(prefix+"q", true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, fmt.Sprint(message.Headers["idempotency_key"], " ", string(message.Body)))
	}
	want := []string{`k-0 {"email":"***","n":12345678901234567890.10,"type":"Placed"}`, `k-3 {"n":2,"type":"Paid"}`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	out, errs, err := sampled(t, environ, "outbox", "list", "events", "--json")
	if err != nil || !strings.Contains(out, "output__") || strings.Count(out, "k-2") != 1 {
		t.Error(err, out, errs)
	}
}
