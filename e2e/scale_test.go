package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// trackedShop is an empty table whose changes are tracked, and the settings of its poller.
func trackedShop(t *testing.T, engine, url string) (*outboxShop, settings) {
	t.Helper()
	o := newOutboxShop(t, engine, url) // only its database
	execute(t, o.db, `CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, version bigint NOT NULL)`)
	return o, settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "shop",
		"SHOP_DB": o.settings["SHOP_DB"], "status__listen": programtest.FreeAddress(t),
		"pollers__orders__source__connection": "SHOP_DB", "pollers__orders__source__mode": "changetracking",
		"pollers__orders__source__table": "orders", "pollers__orders__output__kind": "http",
		"pollers__orders__output__url": url, "pollers__orders__schedule": "* * * * * *",
	}
}

// TestScaleFigures: how many changes wait, and how many workers that makes, as the Azure SQL trigger's own scaler
// computes it: before the first tick, after it, and while the destination refuses one event. KEDA reads it as JSON.
func TestScaleFigures(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		to := newSink(t)
		o, s := trackedShop(t, engine, to.URL)
		dir, listen := t.TempDir(), s["status__listen"]
		s["pollers__orders__retry_delays"], s["pollers__orders__schedule"] = "12h", "0 0 0 1 1 *"
		stdout(t, dir, s, "track", "install", "orders", "--apply", "--yes")
		scaled := func(s settings, unprocessed, workers int64) {
			t.Helper()
			var got struct {
				Outputs []struct {
					Scale struct {
						Unprocessed   int64
						TargetWorkers int64 `json:"target_workers"`
					}
				}
			}
			text, _, _ := command(t, dir, s, "status", "--json") // it fails: there is no sign of life of a tick
			if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Outputs) != 1 {
				t.Fatalf("%v: %s", err, text)
			}
			if at := got.Outputs[0].Scale; at.Unprocessed != unprocessed || at.TargetWorkers != workers {
				t.Errorf("%d unprocessed make %d workers, want %d and %d", at.Unprocessed, at.TargetWorkers, unprocessed, workers)
			}
		}
		rows := 0
		fill := func(upTo int) {
			t.Helper()
			var values []string
			for ; rows < upTo; rows++ {
				values = append(values, fmt.Sprintf("(%d, 1)", rows+1))
			}
			execute(t, o.db, "INSERT INTO orders VALUES "+strings.Join(values, ", "))
		}
		scaled(s, 0, 0)
		fill(100)
		scaled(s, 100, 1)
		fill(1080)
		scaled(s.with(settings{"Sql_Trigger_MaxChangesPerWorker": "100"}), 1080, 11)
		fill(4500)
		scaled(s, 4500, 5)
		fill(6000)
		scaled(s, 6000, 6)
		scaled(s.with(settings{"sql_trigger_maxchangesperworker": "10"}), 1001, 101) // nobody counts a backlog to its end

		to.decide(refuseAs(map[int]int{2: 422}))
		stdout(t, dir, s, "run", "--once")
		scaled(s, 0, 0)
		execute(t, o.db, `UPDATE orders SET version = 2 WHERE id = 7`)
		stdout(t, dir, s, "run", "--once")
		execute(t, o.db, `DELETE FROM orders WHERE id BETWEEN 11 AND 30`)
		scaled(s.with(settings{"Sql_Trigger_MaxChangesPerWorker": "10"}), 21, 3) // what is parked waits, too

		r := startRun(t, dir, s)
		r.Until("the metrics to be served", func() bool { return strings.Contains(r.Log(), `"msg":"running"`) })
		text := get(t, "http://"+listen+"/metrics", "")
		wants(t, text, `rowrelay_unprocessed_changes{output="",poller="orders"} 21`,
			`rowrelay_target_workers{output="",poller="orders"} 1`)
		text, _, _ = command(t, dir, s, "status")
		wants(t, text, "to deliver 21 change(s), which ask for 1 worker(s)")
		wants(t, get(t, "http://"+listen+"/status.json", ""), `"scale":{"unprocessed":21,"target_workers":1}`,
			`"survives_outage_seconds":604800`)
		wants(t, get(t, "http://"+listen+"/status", ""), `title="an outage of up to 7 d loses no change"`)
		refused := s.with(settings{"Sql_Trigger_MaxChangesPerWorker": "0"})
		wants(t, refusal(t, dir, refused, "run", "--once"), "Sql_Trigger_MaxChangesPerWorker")
	})
}
