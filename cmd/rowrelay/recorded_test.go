package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// perAttempt are headers that belong to one attempt. A repetition has others.
var perAttempt = []string{"Rowrelay-Batch-Id", "Rowrelay-Fencing-Token", "Rowrelay-Delivery", "Rowrelay-Attempt"}

// attemptMembers are the members that name the attempt where there are no headers.
var attemptMembers = regexp.MustCompile(
	`,"(rowrelay)?(batch|batch_id|token|fencing_token|delivery|attempt)":("[^"]*"|\d+)`)

// recordedSources are sources whose events are given up and sent again as they were recorded: settings and statements.
var recordedSources = map[string][2][]string{
	"a number as cursor": {{"source__cursor=version", "source__delete_when=gone"}, {recordedRows}},
	"a time as cursor":   {{"source__cursor=at", "source__time_zone=UTC", "source__delete_when=gone"}, {recordedRows}},
	"two as cursor":      {{"source__cursor=day,version"}, {recordedRows}},
	"changes": {{"source__mode=changetracking", "source__start=earliest"}, {recordedRows,
		`DELETE FROM orders WHERE id = 9223372036854775807`, `UPDATE orders SET note = 'b' WHERE id = 2`}},
}

// recordedOutputs are settings under which bodies are compared. A queue has the message that standard output has.
var recordedOutputs = [][]string{
	{"output__format=cloudevents"},
	{"output__format=cloudevents_binary"},
	{"output__format=rowchange"},
	{"output__format=sqltrigger"},
	{"output__format=row"},
	{"output__format=row", "output__jq={time, key, row}"},
	{"output__format=sqltrigger", "output__jq={time, key, row}"},
	{"output__format=sqltrigger", "output__columns=*, note as remark"},
	{"output__format=cloudevents", "output__kind=stdout"},
	{"output__format=rowchange", "output__kind=stdout"},
	{"output__kind=sql"},
}

const recordedRows = `INSERT INTO orders VALUES ('a', 9223372036854775807, 1, 19.90, 1e15, '2026-04-07',
	'2026-04-07 01:02:03.5', '01:02:03.25', x'00ff', false), ('ä"', 2, 2, 5, NULL,
	 '2026-04-08', '2026-04-08 00:00:00', NULL, NULL, true)`

const recordedTable = ` (note TEXT, id INTEGER PRIMARY KEY, version INTEGER NOT NULL, total DECIMAL(10,2), ratio DOUBLE,
	day DATE NOT NULL, at DATETIME NOT NULL, clock TIME, raw BLOB, gone BOOLEAN)`

// TestReplayAsRecorded: whatever the source, the format, the output and the shaping are, an event that was given up is
// sent under its id with the body that a live delivery has.
func TestReplayAsRecorded(t *testing.T) {
	for name, source := range recordedSources {
		for _, output := range recordedOutputs {
			t.Run(name+"/"+strings.Join(output, " "), func(t *testing.T) {
				testReplayAsRecorded(t, slices.Concat(source[0], output), source[1], func(record string) string { return record })
			})
		}
	}
}

// TestReplayOfOldRecords: what records of the first version lack is found out.
func TestReplayOfOldRecords(t *testing.T) {
	lacks := regexp.MustCompile(`"(fingerprint":"[^"]*"|undated":true|forms":\{("(row|key)":\{[^}]*\},?)*\}),`)
	for name, source := range recordedSources {
		for _, format := range []string{"cloudevents", "rowchange", "sqltrigger"} {
			t.Run(name+"/"+format, func(t *testing.T) {
				settings := slices.Concat(source[0], []string{"output__format=" + format})
				testReplayAsRecorded(t, settings, source[1], func(record string) string {
					if !strings.Contains(record, `"forms":`) || !strings.Contains(record, `"fingerprint":`) {
						t.Error("the record lacks something:", record)
					}
					return strings.Replace(lacks.ReplaceAllString(record, ""), `"version":2`, `"version":1`, 1)
				})
			})
		}
	}
}

// testReplayAsRecorded compares a live delivery with one of the records, after edit has changed them.
func testReplayAsRecorded(t *testing.T, settings, rows []string, edit func(record string) string) {
	connection, to := newFile(t), newRecorder(t)
	runSQL(t, connection, `CREATE TABLE orders`+recordedTable)
	environ := ordersOf(connection, "pollers__orders__output__kind=http", "pollers__orders__max_attempts=1")
	for _, setting := range settings {
		environ = with(environ, "pollers__orders__"+setting)
	}
	into := slices.Contains(settings, "output__kind=sql")
	switch {
	case into:
		environ = with(environ, "state__create=true", "pollers__orders__output__connection=COPY",
			"pollers__orders__output__table=copies")
	case slices.Contains(environ, "pollers__orders__output__kind=http"):
		environ = with(environ, "pollers__orders__output__url="+to.URL, "pollers__orders__output__batch=1")
	}
	if slices.Contains(settings, "source__mode=changetracking") {
		if _, errs, err := sampled(t, environ, "track", "install", "orders", "--apply", "--yes"); err != nil {
			t.Fatal(err, errs)
		}
	}
	runSQL(t, connection, rows...)

	// sent runs a command, and returns what it sends.
	sent := func(args ...string) []string {
		target := newFile(t)
		runSQL(t, target, `CREATE TABLE copies`+recordedTable)
		out, errs, err := sampled(t, with(environ, "COPY="+target), args...)
		if err != nil {
			t.Fatal(args, err, out, errs)
		}
		if into {
			return []string{shownRows(t, target, `SELECT * FROM copies ORDER BY id`)}
		}
		lines := to.took()
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "{") && !strings.Contains(line, `"level":`) {
				lines = append(lines, attemptMembers.ReplaceAllString(line, ""))
			}
		}
		if len(lines) != 2 {
			t.Fatalf("%q sent %q\n%s%s", args, lines, out, errs)
		}
		slices.Sort(lines)
		return lines
	}
	t.Chdir(t.TempDir())
	live := sent("run", "--once")

	t.Chdir(t.TempDir()) // a state of its own: the same events once more
	failing := with(environ, `pollers__orders__output__jq=error("given up")`, "COPY="+newFile(t))
	if out, errs, err := sampled(t, failing, "run", "--once"); err != nil {
		t.Fatal(err, out, errs)
	}
	records, err := filepath.Glob(".rowrelay/deadletters/*/*/*.json")
	if err != nil || len(records) != 2 {
		t.Fatal(err, records)
	}
	for _, name := range records {
		testfile.Write(t, name, edit(string(testfile.Read(t, name))))
	}
	if diff := cmp.Diff(live, sent("deadletter", "replay", "orders", "--as-recorded", "--yes")); diff != "" {
		t.Error(diff)
	}
}

// recorder is a receiver that keeps requests, without what belongs to one attempt.
type recorder struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		data, _ := io.ReadAll(q.Body)
		maps.DeleteFunc(q.Header, func(name string, _ []string) bool { return slices.Contains(perAttempt, name) })
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests = append(r.requests, fmt.Sprint(q.Header, "\n", string(data)))
	}))
	t.Cleanup(r.Close)
	return r
}

// took are the requests since the last call.
func (r *recorder) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	requests := r.requests
	r.requests = nil
	return requests
}
