package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/status"
)

// TestStatusOfAPoller: one poller through all that can become of it, as every other instance sees it, on real stores.
func TestStatusOfAPoller(t *testing.T) {
	const secret = "row value 4711"
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			s := ordersShop(t, store)
			for i := range 10 {
				s.execute(`INSERT INTO orders VALUES (?, ?, ?)`, i, i, secret)
			}
			if o := s.want("before the first tick", status.New); o.CommittedAt != nil || o.Lease != nil || o.NextRun == nil ||
				o.Source != "orders" || o.Kind != "http" {
				t.Errorf("%+v", o)
			}
			s.tick()
			o := s.want("after the first tick", status.Healthy)
			if !strings.Contains(o.Position, `"value":9`) || o.CommittedAt == nil || o.LastSuccess == nil || o.Token != 1 ||
				o.Lease.Held || o.LagSeconds == nil || o.Rate == nil {
				t.Errorf("%+v", o)
			}

			side, log := s.page()
			ctx := t.Context()
			s.says(side.Operator.Pause(ctx, "orders", "", "ann@example.org"))("Paused orders")
			s.says(side.Operator.Pause(ctx, "orders", "", "bob"))("orders has been paused since")
			if o := s.want("paused", status.Paused); o.Pause == nil || o.Pause.By != "ann@example.org" || o.Pause.At == nil {
				t.Errorf("%+v", o.Pause)
			}
			s.says(side.Operator.Resume(ctx, "orders", "", "bob"))("Resumed orders")
			s.says(side.Operator.Resume(ctx, "orders", "", "bob"))("orders is not paused")
			if text := log.String(); strings.Count(text, `"event":"paused"`) != 1 ||
				!strings.Contains(text, `"by":"ann@example.org"`) ||
				!strings.Contains(text, `"event":"resumed","poller":"orders","output":"","by":"bob"`) {
				t.Errorf("the audit: %s", text)
			}

			s.receiver(`"id":21`, false)
			s.execute(`INSERT INTO orders VALUES (20, 20, ?), (21, 21, ?), (22, 22, ?)`, secret, secret, secret)
			s.tick()
			o = s.want("parked", status.Parked)
			if o.Parked != 1 || len(o.Entries) != 1 || o.Entries[0].Key != `{"id":21}` || o.Entries[0].Attempts != 1 ||
				o.Entries[0].Next == nil || !strings.Contains(o.Entries[0].Reason, "422") {
				t.Errorf("%+v", o)
			}
			s.settings["pollers__orders__max_attempts"] = "1"
			s.execute(`UPDATE orders SET changed = 30 WHERE id = 21`)
			s.execute(`INSERT INTO orders VALUES (31, 31, ?)`, secret) // a witness
			s.tick()
			// The update is behind the parked event: its key is tried when it is due. A row of its own is given up at once.
			s.receiver(`"id":4`, false)
			s.execute(`INSERT INTO orders VALUES (40, 40, ?), (41, 41, ?), (50, 50, ?)`, secret, secret, secret)
			s.tick()
			o = s.want("dead-lettered", status.Parked)
			if o.DeadLetters != 2 || len(o.Letters) != 2 || o.Letters[0].ID == "" || o.Letters[0].At == nil ||
				o.Letters[0].Attempts != 1 {
				t.Errorf("%+v", o)
			}
			s.receiver("", false)
			replayed := o.Letters[0].ID
			row, err := side.Operator.Row(ctx, "orders", "", replayed, "ann")
			if err != nil || !strings.Contains(string(row), secret) ||
				!strings.Contains(log.String(), "a dead letter was shown") || strings.Contains(log.String(), secret) {
				t.Errorf("%s, %v, %s", row, err, log.String())
			}
			s.says(side.Operator.Replay(ctx, "orders", "", []string{replayed}, "ann"))("read again and delivered")
			if _, err := side.Operator.Replay(ctx, "orders", "", []string{replayed}, "ann"); err == nil ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("a second replay: %v", err)
			}
			if text := log.String(); !strings.Contains(text,
				`"event":"deadletter_replayed","poller":"orders","output":"","by":"ann","id":"`+replayed) {
				t.Errorf("the audit: %s", text)
			}
			s.tick()
			if o = s.want("replayed", status.Parked); o.DeadLetters != 1 || len(o.Letters) != 1 || o.Letters[0].ID == replayed {
				t.Errorf("%+v", o)
			}

			s.receiver("", true)
			s.execute(`INSERT INTO orders VALUES (60, 60, ?)`, secret)
			s.tick()
			o = s.want("failing", status.Failing)
			if e := o.LastError; e == nil || e.Event != "handler_failed" || !strings.Contains(e.Text, "503") ||
				!strings.Contains(e.Mend, "the receiver") || e.At == nil {
				t.Errorf("%+v", o.LastError)
			}
			s.sameEverywhere()
			s.receiver("", false)
			s.tick()
			if o = s.want("recovered", status.Parked); o.LastError == nil || o.LastError.Event != "handler_failed" {
				t.Errorf("%+v", o)
			}
			s.execute(`INSERT INTO orders VALUES (70, 70, ?)`, secret)
			s.heldBack()
			r, _ := s.report()
			if text := fmt.Sprintf("%+v", r); strings.Contains(text, secret) {
				t.Errorf("a row's value: %s", text)
			}
		})
	}
}

// TestStatusOfADeadStore: nothing hangs, what is wrong is said without the account's key, and what can be read is
// shown.
func TestStatusOfADeadStore(t *testing.T) {
	const key = "cGxhbnRlZCBhY2NvdW50IGtleSA0NzEx"
	s := ordersShop(t, map[string]string{
		"state__kind": "blob", "state__create": "true", "pollers__orders__lease_ttl": "10s",
		"AzureWebJobsStorage": "DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=" + key +
			";BlobEndpoint=http://127.0.0.1:1/shop;",
	})
	url := testenv.SQLite(t)
	events := newStatusShop(t, "sqlite", url, strings.TrimPrefix(url, "sqlite:"))
	maps.Copy(s.settings, map[string]string{
		"EVENTS_DB": events.settings["SHOP_DB"], "pollers__events__source__mode": "outbox",
		"pollers__events__source__connection": "EVENTS_DB",
		"pollers__events__source__table":      "outbox", "pollers__events__output__kind": "http",
		"pollers__events__output__url":     "http://127.0.0.1:1/",
		"pollers__bad__source__connection": "SHOP_DB", "pollers__bad__source__table": "orders",
		"pollers__bad__schedule":       "nonsense",
		"pollers__bad__source__cursor": "changed", "pollers__bad__output__kind": "stdout",
	})
	s.must("outbox", "init", "events", "--apply")
	r, failed := s.report()
	if !failed || len(r.Outputs) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, o := range r.Outputs {
		want, says := status.Failing, "the state document could not be read"
		switch o.Poller {
		case "events":
			want, says = status.Unknown, "the note of its last tick could not be read"
		case "bad":
			says = "schedule"
		}
		if o.Health != want || !strings.Contains(o.Says, says) {
			t.Errorf("%s is %s: %s; want %s: …%s…", o.Poller, o.Health, o.Says, want, says)
		}
	}
	out, errs, _ := s.cli("status")
	if data, _ := json.Marshal(r); strings.Contains(string(data)+out+errs, key) {
		t.Errorf("the account's key is shown: %s", data)
	}
}

// TestStatusOfAnOutbox: the figures of an outbox in PostgreSQL, without any state store, and the buttons on it. While
// nobody holds a claim, and no store has notes, it is unknown whether anybody publishes.
func TestStatusOfAnOutbox(t *testing.T) {
	url := testenv.Postgres(t)
	s := newStatusShop(t, "pgx", url, url)
	delete(s.settings, "state__kind")
	maps.Copy(s.settings, map[string]string{
		"pollers__orders__source__mode": "outbox", "pollers__orders__source__table": "outbox",
		"pollers__orders__max_attempts":   "1",
		"pollers__orders__output__format": "cloudevents",
	})
	s.must("outbox", "init", "orders", "--apply")
	if o := s.want("empty", status.Unknown); o.Pending == nil || *o.Pending != 0 || o.Mode != "outbox" ||
		o.Position != "" {
		t.Errorf("%+v", o)
	}
	const secret = "payload 4711"
	add := func(aggregate string) {
		s.execute(`INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES ('Order', $1, 'OrderChanged', $2, $3)`,
			aggregate, `{"note":"`+secret+`"}`, fmt.Sprintf("%s-%d", aggregate, time.Now().UnixNano()))
	}
	add("a1")
	add("a1")
	if o := s.want("pending", status.Unknown); *o.Pending != 2 || o.LagSeconds == nil ||
		!strings.Contains(o.Says, "without a state store") {
		t.Errorf("%+v", o)
	}
	ctx := context.Background()
	side, log := s.page()
	s.says(side.Operator.Pause(ctx, "orders", "", "ann"))("Paused orders")
	if o := s.want("paused", status.Paused); o.Pause == nil || o.Pause.By != "ann" || o.Pause.At == nil {
		t.Errorf("%+v", o.Pause)
	}
	s.says(side.Operator.Resume(ctx, "orders", "", "ann"))("Resumed orders")
	s.receiver("a1", false)
	add("a2") // a witness
	s.tick()
	o := s.want("dead", status.Parked)
	if o.DeadLetters != 1 || o.Waiting != 1 || len(o.Letters) != 1 || o.Letters[0].Key != "Order/a1" ||
		!strings.Contains(o.Letters[0].Reason, "422") {
		t.Errorf("%+v", o)
	}
	s.receiver("", false)
	s.says(side.Operator.Replay(ctx, "orders", "", []string{o.Letters[0].ID}, "ann"))("due now")
	_, err := side.Operator.Replay(ctx, "orders", "", []string{o.Letters[0].ID}, "ann")
	if refusal := new(status.Refusal); !errors.As(err, &refusal) || !refusal.Missing ||
		!strings.Contains(err.Error(), "no such event has --id") {
		t.Errorf("a second replay: %v", err)
	}
	if text := log.String(); !strings.Contains(text, `"event":"outbox_requeued","poller":"orders","by":"ann"`) ||
		!strings.Contains(text, `"event":"paused","poller":"orders","by":"ann"`) {
		t.Errorf("the audit: %s", text)
	}
	for range 20 { // what waited behind it comes with the same tick, or with a later one
		s.tick()
		if r, _ := s.report(); *r.Outputs[0].Pending == 0 {
			break
		}
	}
	if o := s.want("published", status.Unknown); *o.Pending+o.Waiting+o.DeadLetters != 0 {
		t.Errorf("%+v", o)
	}
	r, _ := s.report()
	if text := fmt.Sprintf("%+v", r); strings.Contains(text, secret) {
		t.Errorf("a payload: %s", text)
	}
	s.settings["SHOP_DB"] = strings.Replace(url, "@", "planted4711@", 1)
	if !strings.Contains(s.settings["SHOP_DB"], "planted4711") {
		t.Fatal("the database's URL has no user")
	}
	o = s.want("no way to the database", status.Failing)
	if text := fmt.Sprintf("%+v", o); !strings.Contains(o.Says, "the outbox could not be read") ||
		strings.Contains(text, "planted4711") {
		t.Errorf("%s", text)
	}
}
