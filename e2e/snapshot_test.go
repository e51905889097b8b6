package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// TestSnapshotProgress: how far the read of the whole table is stands in status, page and metrics while it is under
// way, and a command shows it until its end.
func TestSnapshotProgress(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		to := newSink(t)
		o, s := trackedShop(t, engine, to.URL)
		dir, listen := t.TempDir(), s["status__listen"]
		s = s.with(settings{
			"pollers__orders__source__start": "snapshot", "pollers__orders__source__snapshot_chunk": "40",
			"pollers__orders__output__batch": "1", "pollers__orders__concurrency": "1", // one chunk after the other
		})
		var values []string
		for id := range 160 {
			values = append(values, fmt.Sprintf("(%d, 1)", id+1))
		}
		execute(t, o.db, "INSERT INTO orders VALUES "+strings.Join(values, ", "))
		stdout(t, dir, s, "track", "install", "orders", "--apply", "--yes")
		released := make(chan struct{})
		release := sync.OnceFunc(func() { close(released) })
		defer release()
		to.decide(func(_ http.ResponseWriter, events []cloudEvent) bool { // all but the first chunk has to wait
			for _, e := range events {
				if id, _ := e.Data["id"].(float64); id > 40 {
					<-released
				}
			}
			return true
		})
		r := startRun(t, dir, s)
		progress := func() string {
			var report struct {
				Outputs []struct{ Progress json.RawMessage }
			}
			text, _, _ := command(t, dir, s, "status", "--json")
			if err := json.Unmarshal([]byte(text), &report); err != nil || len(report.Outputs) != 1 {
				t.Fatalf("%v: %s", err, text)
			}
			return strings.Join(strings.Fields(string(report.Outputs[0].Progress)), "")
		}
		r.Until("the first chunk to be delivered", func() bool {
			return progress() == `{"whole_table":true,"rows_read":40,"rows_estimated":160,"share":0.25}`
		})
		wants(t, stdout(t, dir, s, "backfill", "orders", "--status"), "40 of about 160 row(s) (25 %)")
		r.Until("the page to show it", func() bool {
			return strings.Contains(get(t, "http://"+listen+"/status?poller=orders", ""), `<progress max="1" value="0.25">`)
		})
		wants(t, get(t, "http://"+listen+"/metrics", ""), `rowrelay_snapshot_rows_read{output="",poller="orders"} 40`,
			`rowrelay_snapshot_rows_estimated{output="",poller="orders"} 160`,
			`rowrelay_snapshot_share{output="",poller="orders"} 0.25`)

		watch := programtest.Start(t, programtest.Options{Dir: dir, Settings: s}, "backfill", "orders", "--watch")
		watch.Until("it to be shown", func() bool { return strings.Contains(watch.Stdout()+watch.Log(), "40 of about 160") })
		release()
		r.Until("all rows to arrive", func() bool { n, _ := to.count(); return n == 160 })
		if code := watch.Wait(); code != 0 {
			t.Errorf("watching ended with %d: %s", code, watch.Log())
		}
		wants(t, watch.Stdout()+watch.Log(), "has ended")
		r.Until("its end to be measured", func() bool {
			return progress() == "" && !strings.Contains(get(t, "http://"+listen+"/metrics", ""), "rowrelay_snapshot_share{")
		})
	})
}
