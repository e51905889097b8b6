package e2e

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/internal/tlstest"
)

// updateProduction writes the outputs that docs/production.md shows: go test ./e2e -run TestProduction
// -update-production, then go test ./production -run TestPage -update.
var updateProduction = flag.Bool("update-production", false, "write the golden outputs of check --production")

// productionOutput holds what the binary wrote against the golden file that docs/production.md shows.
func productionOutput(t *testing.T, name, got string, replace ...string) {
	t.Helper()
	got = refold(strings.NewReplacer(replace...).Replace(got))
	path := filepath.Join("testdata", "production", name+".txt")
	if *updateProduction {
		testfile.Write(t, path, got)
	}
	want := testfile.Read(t, path)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-file +now):\n%s", path, diff)
	}
}

// refold folds lines anew, as the names that were replaced had another length: a text goes on in lines that have
// nothing before it.
func refold(output string) string {
	var lines []string
	for line := range strings.SplitSeq(output, "\n") {
		text := strings.TrimLeft(line, " ")
		if len(line)-len(text) >= 28 && !strings.HasPrefix(text, "→") && len(lines) > 0 {
			lines[len(lines)-1] += " " + text
			continue
		}
		lines = append(lines, line)
	}
	const width, column = 130, 29
	for i, line := range lines {
		words, at := strings.Split(line, " "), 0
		var b strings.Builder
		for n, word := range words {
			length := utf8.RuneCountInString(word)
			switch {
			case n == 0:
			case at > column && at+1+length > width:
				indent := column
				if strings.HasPrefix(strings.TrimSpace(line), "→") {
					indent += 2
				}
				b.WriteString("\n" + strings.Repeat(" ", indent))
				at = indent
			default:
				b.WriteString(" ")
				at++
			}
			b.WriteString(word)
			at += length
		}
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}

// anywhere reaches this machine by an address that is not known for it: it counts as another one.
const anywhere = "0.0.0.0"

// TestProductionOfAGoodApp: `rowrelay run` on one machine, PostgreSQL over verified TLS with a login that may only
// read, an exact cursor, and everything else that can be seen from inside in order. Nothing is to mend, and what only
// people can see is said.
func TestProductionOfAGoodApp(t *testing.T) {
	db, server := openPostgres(t)
	reader := strings.ReplaceAll(unique("rr_production"), "-", "_")
	for _, statement := range []string{
		"CREATE TABLE orders (id bigint PRIMARY KEY, status text NOT NULL)",
		"CREATE ROLE " + reader + " LOGIN PASSWORD 'reader'", "GRANT SELECT ON orders TO " + reader,
	} {
		execute(t, db, statement)
	}
	t.Cleanup(func() {
		_, err := db.Exec("DROP OWNED BY " + reader)
		_, err2 := db.Exec("DROP ROLE " + reader)
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
	})
	front, authority := tlsFront(t, server)
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.Trim(u.Path, "/")
	u.User, u.Host = url.UserPassword(reader, "reader"), front
	u.RawQuery = url.Values{"sslrootcert": {authority}}.Encode() // sslmode is not said: verify-full
	dir, where := t.TempDir(), t.TempDir()
	s := settings{
		"state__kind": "file", "state__path": where, "state__app_name": "shop", "ORDERS_DB": u.String(),
		"pollers__orders__source__connection": "ORDERS_DB", "pollers__orders__source__table": "orders",
		"pollers__orders__source__cursor": "rowrelay_xid",
		"pollers__orders__output__kind":   "http", "pollers__orders__output__url": "https://hooks.example.com/orders",
		"pollers__orders__output__secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
		"status__token":                   "a token of more than sixteen",
		"OTEL_EXPORTER_OTLP_ENDPOINT":     "https://otel.example.com:4318",
	}
	// The table is made exact as docs/late-commits.md tells: by what check --ddl prints.
	ddl := stdout(t, dir, s.with(settings{"pollers__orders__source__cursor": "id"}), "check", "orders",
		"--ddl")
	statements, index, _ := strings.Cut(ddl, "CREATE INDEX") // concurrently: not in a transaction with others
	execute(t, db, statements)
	execute(t, db, "CREATE INDEX"+index)
	execute(t, db, "INSERT INTO orders (id, status) VALUES (1, 'new')")
	out, errs, err := command(t, dir, s, "check", "--production")
	if err != nil || errs != "" {
		t.Errorf("%v: %s\n%s", err, errs, out)
	}
	productionOutput(t, "good", out, front, "db.example.com", database, "shop", reader, "rowrelay_reader", where,
		"/var/lib/rowrelay", authority, "/etc/ca.pem")
	var view productionJSON
	out, _, err = command(t, dir, s, "check", "--production", "--json")
	if jsonErr := json.Unmarshal([]byte(out), &view); err != nil || jsonErr != nil || view.Counts["to mend"] != 0 ||
		len(view.Items) == 0 {
		t.Errorf("%v, %v: %+v", err, jsonErr, view.Counts)
	}
	if strings.Contains(out, "whsec_") || strings.Contains(out, ":reader@") || strings.Contains(out, "a token of") {
		t.Errorf("a secret is shown: %s", out)
	}
	// What is verified by default is the certificate of this authority, not any.
	u.RawQuery = ""
	out, _, err = command(t, dir, s.with(settings{"ORDERS_DB": u.String()}), "check", "--production")
	if err == nil {
		t.Error("a server whose certificate nobody signed passes")
	}
	wants(t, strings.Join(strings.Fields(out), " "), "the server's certificate is not trusted", "sslmode=require")
}

type productionJSON struct {
	Items []struct {
		ID      string
		Answers []struct {
			Of, Verdict, Seen, Mend string
			Accepted                bool
		}
	}
	Counts map[string]int
}

// TestProductionOfABadApp: a Function App that works, and should not be let loose. Every item that can be seen to be
// wrong in one app is.
func TestProductionOfABadApp(t *testing.T) {
	azurite := testenv.Azurite(t)
	db, server := openPostgres(t)
	execute(t, db, `CREATE TABLE orders (id bigint PRIMARY KEY, updated_at timestamp(0), status text);
		INSERT INTO orders VALUES (1, '2026-01-01', 'new'), (2, NULL, 'lost')`)
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	host, database, login := u.Host, strings.Trim(u.Path, "/"), u.User.Username()
	u.Host = net.JoinHostPort(anywhere, u.Port())
	u.RawQuery = "sslmode=disable"
	container, queue := unique("state"), unique("dead")
	storage := strings.ReplaceAll(azurite, "127.0.0.1", anywhere)
	s := settings{
		"state__kind": "blob", "state__container": container, "AzureWebJobsStorage": storage,
		"log__level": "debug", "status__token": "short",
		"pollers__orders__source__connection": "SHOP_DB", "pollers__orders__source__table": "orders",
		"pollers__orders__source__cursor":       "updated_at",
		"pollers__orders__source__late_commits": "none", "pollers__orders__source__start": "latest",
		"pollers__orders__source__on_failover": "continue",
		"pollers__orders__source__connections": "1", "pollers__orders__source__timeout": "1m",
		"pollers__orders__output__kind":               "http",
		"pollers__orders__output__url":                "http://hooks.example.com/orders?code=hunter2",
		"pollers__orders__outputs__audit__kind":       "queue",
		"pollers__orders__outputs__audit__connection": "AzureWebJobsStorage",
		"pollers__orders__outputs__audit__queue":      queue, "pollers__orders__max_attempts": "2",
		"pollers__orders__ordering":  "none",
		"pollers__orders__lease_ttl": "12s", "pollers__orders__poll_interval": "1s",
		"pollers__events__source__connection": "SHOP_DB", "pollers__events__source__mode": "outbox",
		"pollers__events__source__table":            "events",
		"pollers__events__source__cleanup_schedule": "none", "pollers__events__after_dead_letter": "release",
		"pollers__events__output__kind": "rabbitmq", "pollers__events__output__connection": "RABBIT",
		"ORDERS_SCHEDULE": "0 */10 * * * *", "EVENTS_SCHEDULE": "*/10 * * * * *", "OTEL_SDK_DISABLED": "true",
		"WEBSITE_SLOT_NAME": "staging",
		// A broker that is never asked: check sends nothing.
		"RABBIT": "amqp://app:hunter2@broker.example.com/", "SHOP_DB": u.String(),
	}
	root := functionApp(t, s)
	local := settings{"SHOP_DB": s["SHOP_DB"], "RABBIT": s["RABBIT"]}
	text, err := json.Marshal(map[string]any{"IsEncrypted": false, "Values": local})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, root, "local.settings.json", string(text))
	s = s.with(settings{"SHOP_DB": "", "RABBIT": ""})
	writeFile(t, root, "host.json",
		`{"version":"2.0","functionTimeout":"00:01:00","customHandler":{"description":{"defaultExecutablePath":"rowrelay","arguments":["serve"]}}}`)
	writeFile(t, root, "orders/function.json", `{"retry":{"strategy":"fixedDelay","maxRetryCount":3,"delayInterval":"00:00:01"},
		"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"%ORDERS_SCHEDULE%"}]}`)
	writeFile(t, root, "open/function.json",
		`{"bindings":[{"type":"httpTrigger","direction":"in","name":"req","authLevel":"anonymous"}]}`)
	stdout(t, root, s, "outbox", "init", "events", "--apply")
	execute(t, db, "ALTER TABLE events SET (autovacuum_enabled = false)")
	out, errs, err := command(t, root, s, "check", "--production")
	if exitCode(t, err) != 1 || errs != "" {
		t.Errorf("%v: %s\n%s", err, errs, out)
	}
	wants(t, out, "TO MEND")
	if strings.Contains(out, "hunter2") {
		t.Errorf("a secret is shown: %s", out)
	}
	azuritePort := storage[strings.Index(storage, anywhere+":"):]
	azuritePort, _, _ = strings.Cut(azuritePort, "/")
	productionOutput(t, "bad", out, u.Host, "db.example.com", host, "db.example.com", azuritePort, "storage.example.com",
		database, "shop", login+" is", "shop_admin is", login+" may", "shop_admin may",
		queue, "orders-audit", container, "db-state")

	// The start says the same of connections that are not verified, and works.
	out, errs, _ = command(t, root, s.with(settings{"pollers__orders__tick_budget": "5s"}), "check")
	wants(t, out+errs, "sslmode is disable", "of the state store to "+anywhere, "is not encrypted (plain http)",
		"amqp, which is AMQP without TLS", "plain http to another machine")
}

// TestProductionAcceptsWhatIsMeant: items that are meant to be so can be named, and do not fail; no others can.
func TestProductionAcceptsWhatIsMeant(t *testing.T) {
	s, _ := sqliteShop(t, "https://hooks.example.com/orders", 1)
	s = s.with(settings{"pollers__orders__ordering": "none"})
	dir := t.TempDir()
	if err := os.MkdirAll(s["state__path"], 0o755); err != nil {
		t.Fatal(err)
	}
	out, _, err := command(t, dir, s, "check", "--production")
	if exitCode(t, err) != 1 {
		t.Errorf("%v: %s", err, out)
	}
	wants(t, out, "TO MEND   ordering", "TO MEND   signature", "2 to mend")
	out = stdout(t, dir, s, "check", "--production", "--accept", "ordering,signature")
	wants(t, out, "accepted  ordering", "accepted  signature", "2 accepted")
	if out, errs, err := command(t, dir, s, "check", "--production", "--accept", "ordning"); err == nil ||
		!strings.Contains(errs, "no such item") {
		t.Errorf("%v: %s%s", err, out, errs)
	}
}

// TestStartSaysWhatIsNotVerified: the log of a start, alone and under the host, has a warning for a connection that
// leaves the machine unverified, and none for those that stay on it.
func TestStartSaysWhatIsNotVerified(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 1)
	azurite := testenv.Azurite(t)
	local := s.with(settings{"state__kind": "blob", "state__container": unique("state"), "STORE": azurite,
		"state__connection": "STORE"})
	away := local.with(settings{"STORE": strings.ReplaceAll(azurite, "127.0.0.1", anywhere)})
	const says = "the connection of the state store to " + anywhere + " is not encrypted (plain http)"
	for _, c := range []struct {
		s    settings
		want bool
	}{{local, false}, {away, true}} {
		out, errs, err := command(t, t.TempDir(), c.s, "run", "--once")
		if err != nil || strings.Contains(out+errs, says) != c.want {
			t.Errorf("run, %v: %v\n%s%s", c.want, err, out, errs)
		}
		host := startHost(t, functionApp(t, c.s), c.s)
		must(t, host, "orders")
		host.Close() // a running worker's lines may be on their way
		if strings.Contains(transcript(host), says) != c.want {
			t.Errorf("serve, %v: %s", c.want, transcript(host))
		}
	}
}

func writeFile(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	testfile.Write(t, path, text)
}

// tlsFront gives the PostgreSQL of the tests, which has no TLS, a front that has: it answers SSLRequest, proves the
// name `anywhere` by an authority of its own, and passes on what comes. It returns its address and the authority's
// file.
func tlsFront(t *testing.T, server string) (address, authority string) {
	t.Helper()
	behind, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	certificate := tlstest.Certificate(anywhere)
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go secure(conn, behind.Host, config)
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(anywhere, port), tlstest.File(t, certificate)
}

// secure serves one connection of tlsFront.
func secure(conn net.Conn, behind string, config *tls.Config) {
	defer conn.Close() //nolint:errcheck // the test's own
	sslRequest := make([]byte, 8)
	if _, err := io.ReadFull(conn, sslRequest); err != nil {
		return
	}
	if _, err := conn.Write([]byte("S")); err != nil {
		return
	}
	client := tls.Server(conn, config)
	server, err := net.Dial("tcp", behind)
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // the test's own
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}
