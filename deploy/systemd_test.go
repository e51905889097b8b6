package deploy_test

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

const unitFile = "systemd/rowrelay.service"

// TestSystemdVerifiesTheUnit asks systemd itself. The program of the test stands where the installed one would.
func TestSystemdVerifiesTheUnit(t *testing.T) {
	if _, err := checkers(); err != nil { // they bring systemd-analyze
		t.Fatal(err)
	}
	text := testfile.Read(t, unitFile)
	path := filepath.Join(t.TempDir(), "rowrelay.service")
	here := strings.ReplaceAll(string(text), "/usr/local/bin/rowrelay", programtest.Path(t))
	testfile.Write(t, path, here)
	// It ends with 0 beside a name that it does not know, and says it.
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil ||
		strings.Contains(string(out), "rowrelay.service") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheUnitsServiceRuns starts what the unit starts, with the environment that it makes: the samples' settings, and
// secrets in files.
func TestTheUnitsServiceRuns(t *testing.T) {
	unit := directives(t, unitFile)
	credentials, state := t.TempDir(), t.TempDir()
	settings := map[string]string{}
	for name, values := range directives(t, "systemd/rowrelay.env") {
		settings[name] = values[0]
	}
	for _, line := range unit["Environment"] {
		for pair := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(pair, "=")
			settings[name] = strings.NewReplacer("%d", credentials, "%S", state).Replace(value)
		}
	}
	signed := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		signed <- r.Header.Get("Webhook-Signature")
	}))
	defer receiver.Close()
	settings["pollers__orders__output__url"] = receiver.URL
	secrets := map[string]string{"orders-db": "sqlite://" + shop(t) + "\n",
		"orders-secret": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"}
	for _, line := range unit["LoadCredential"] {
		name, path, _ := strings.Cut(line, ":")
		if path != "/etc/rowrelay/"+name || secrets[name] == "" {
			t.Fatalf("the test knows no secret %s", line)
		}
		testfile.Write(t, filepath.Join(credentials, name), secrets[name])
	}
	command, ok := strings.CutPrefix(unit["ExecStart"][0], "/usr/local/bin/rowrelay ")
	if !ok || unit["StateDirectory"][0] != "rowrelay" {
		t.Fatalf("%s, %s", unit["ExecStart"], unit["StateDirectory"])
	}
	if err := os.Mkdir(filepath.Join(state, "rowrelay"), 0o700); err != nil {
		t.Fatal(err)
	}
	o := programtest.Options{Dir: filepath.Join(state, "rowrelay"), Settings: settings}
	out, err := programtest.Command(t.Context(), t, o, append(strings.Fields(command), "--once")...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"rows":1`) || strings.Contains(string(out), "whsec_") {
		t.Fatalf("%v\n%s", err, out)
	}
	if signature := <-signed; !strings.HasPrefix(signature, "v1,") {
		t.Errorf("signature %q", signature)
	}
	if _, err := os.Stat(filepath.Join(state, "rowrelay/state/shop/orders.json")); err != nil {
		t.Error(err)
	}
}

// shop is a database with one order.
func shop(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `CREATE TABLE orders (id INTEGER PRIMARY KEY, updated_at DATETIME NOT NULL);
		INSERT INTO orders VALUES (1, '2026-04-07 01:23:45')`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// directives are the lines name=value of a file, by name.
func directives(t *testing.T, path string) map[string][]string {
	t.Helper()
	text := testfile.Read(t, path)
	found := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(name, "#") {
			found[name] = append(found[name], value)
		}
	}
	return found
}
