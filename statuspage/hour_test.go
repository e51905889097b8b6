package statuspage

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

// TestLastHour: a bar for each stretch in which something was, the latest at the right, and the same in words.
func TestLastHour(t *testing.T) {
	d := newDesk(t, token)
	d.logIn()
	now := d.shop.report.At
	step := func(minutes, rows, failed int, waiting float64) status.Step {
		return status.Step{At: now.Add(-time.Duration(minutes) * time.Minute).Truncate(status.HistoryStep), Rows: rows,
			Failed: failed, Waiting: waiting}
	}
	o := status.Output{Poller: "orders", Health: status.Healthy, From: "postgres db1:5432", To: "http shop.example.com",
		History: []status.Step{step(70, 9999, 9, 9), step(20, 1200, 0, 0), step(10, 0, 2, 300), step(0, 12, 0, 0)}}
	h := lastHour(&o, now)
	if h.Rows != "1\u202f212 delivered" || h.Failures != "2 failed" || h.Longest != "waited up to 5 min" {
		t.Errorf("%+v", h)
	}
	if h.Delivered != "M152 0h7v24h-7zM232 22h7v2h-7z" || h.Failed != "M192 0h7v24h-7z" || h.Waiting != h.Failed {
		t.Errorf("%q %q %q", h.Delivered, h.Failed, h.Waiting)
	}
	d.shop.report.Outputs = []status.Output{o}
	page := d.send("GET", "/status", "")
	d.wants("page", page, http.StatusOK, h.Delivered, h.Rows, h.Failures, h.Longest, `<svg role="img"`, "postgres db1:5432 <", "</span> http shop.example.com<")
	d.shop.report.Outputs[0].Health = status.Parked
	d.wants("the runbook", d.send("GET", "/status", ""), http.StatusOK,
		`<a href="`+status.RunbookPage+`rowrelayparked" rel="noreferrer">`)
	d.shop.report.Outputs[0].History = nil
	if page = d.send("GET", "/status", ""); strings.Contains(page.text, "<svg") {
		t.Error("an hour is drawn of which nothing is known")
	}
}
