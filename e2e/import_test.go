package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// foreignCases are documents that azure-functions-db wrote, with the tables that it had read:
// testdata/azure-functions-db/write.py.
type foreignCases struct {
	Version string
	Cases   map[string]struct {
		DDL      []string
		Key      []string
		Query    string
		First    []int // the rows that it had delivered, by their n
		Document json.RawMessage
	}
}

// refusedForeign are the cases whose position cannot be the same in Rowrelay, with what is said.
var refusedForeign = map[string]string{
	"sqlite: decimal of thirds":  "has rounded it",
	"sqlite: date":               "it cannot store a date",
	"postgres: date":             "it cannot store a date",
	"postgres: double precision": "a float is not a cursor",
	"postgres: text":             "text is not a cursor",
	"postgres: uuid":             "a uuid is not a cursor",
}

// committed is what a document says, without what each run makes anew: names of processes and batches, and times.
func committed(t *testing.T, document json.RawMessage) string {
	t.Helper()
	var d map[string]any
	read := json.NewDecoder(bytes.NewReader(document))
	read.UseNumber() // a float would take neighbours for equal
	if err := read.Decode(&d); err != nil {
		t.Fatal(err)
	}
	delete(d, "source_fingerprint")
	delete(d["checkpoint"].(map[string]any), "batch_id")
	for _, name := range []string{"owner_id", "acquired_at", "heartbeat_at", "expires_at"} {
		delete(d["lease"].(map[string]any), name)
	}
	return fmt.Sprint(d)
}

// TestImportOfRealDocuments: Rowrelay goes on behind the very row that azure-functions-db committed last, for every
// type of cursor and key that it stores; what would not be the same row is refused.
func TestImportOfRealDocuments(t *testing.T) {
	t.Parallel()
	newer := map[string]string{}
	for _, version := range []string{"0.8.3", "0.4.2"} {
		data := testfile.Read(t, filepath.Join("testdata", "azure-functions-db", "cases-"+version+".json"))
		var found foreignCases
		if err := json.Unmarshal(data, &found); err != nil || found.Version != version || len(found.Cases) < 30 {
			t.Fatalf("%s: %d cases of %s, %v", version, len(found.Cases), found.Version, err)
		}
		for name, c := range found.Cases {
			// Both releases write the same but for names and times; where the older one did not, its document is imported too.
			if known := committed(t, c.Document); newer[name] == known {
				continue
			} else if newer[name] == "" {
				newer[name] = known
			}
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				to := newSink(t)
				engine, _, _ := strings.Cut(name, ":")
				url, driver := testenv.SQLite(t), "sqlite"
				dsn := strings.TrimPrefix(url, "sqlite:")
				if engine == "postgres" {
					url = testenv.Postgres(t)
					dsn, driver = url, "pgx"
				}
				db := testenv.Open(t, driver, dsn)
				for _, text := range c.DDL {
					execute(t, db, text)
				}
				dir := t.TempDir()
				s := settings{
					"state__kind": "file", "state__path": filepath.Join(dir, "state"), "state__app_name": "shop", "SHOP_DB": url,
					"pollers__orders__source__connection": "SHOP_DB", "pollers__orders__source__cursor": "c",
					"pollers__orders__source__key":   strings.Join(c.Key, ","),
					"pollers__orders__source__table": "orders", "pollers__orders__source__time_zone": "Europe/Berlin",
					"pollers__orders__output__kind": "http", "pollers__orders__output__url": to.URL,
				}
				if c.Query != "" {
					s = s.with(settings{"pollers__orders__source__table": "", "pollers__orders__source__query": c.Query})
				}
				file := filepath.Join(dir, "blob.json")
				testfile.Write(t, file, string(c.Document))
				args := []string{"state", "import", "orders", file, "--yes"}
				if len(c.Key) > 1 {
					wants(t, refusal(t, dir, s, args...), "--key "+strings.Join(c.Key, ","))
					turned := slices.Clone(c.Key)
					slices.Reverse(turned)
					wants(t, refusal(t, dir, s, append(args, "--key", strings.Join(turned, ","))...),
						"set source__key="+strings.Join(turned, ","))
					args = append(args, "--key", strings.Join(c.Key, ","))
				}
				out, errs, err := command(t, dir, s, args...)
				if why := refusedForeign[name]; why != "" {
					if exitCode(t, err) != 1 || len(filesBelow(t, s["state__path"])) > 0 {
						t.Errorf("imported: %s%s", out, errs)
					}
					wants(t, errs, why)
					return
				}
				if err != nil {
					t.Fatalf("%s%s", out, errs)
				}
				wants(t, out, "3 row(s) lie after it", "done")
				once(t, dir, s)
				want := map[string]int{}
				for n := 1; n <= 7; n++ {
					if !slices.Contains(c.First, n) {
						want[fmt.Sprint(n)] = 1
					}
				}
				if came := to.column("n"); !maps.Equal(came, want) {
					t.Errorf("came %v, want %v", came, want)
				}
			})
		}
	}
}
