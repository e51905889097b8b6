package statuspage

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

// headings are the names of the outputs on a page, from above.
func headings(page string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`<h2 id="o\d+">([^<]*?)(?: <span class="output">([^<]*)</span>)?</h2>`).
		FindAllStringSubmatch(page, -1) {
		names = append(names, strings.TrimSuffix(m[1]+"/"+m[2], "/"))
	}
	return names
}

// TestOutputsAreChosenAndOrderedByTheAddress: without scripts; what is chosen stays in the links to what else may be.
func TestOutputsAreChosenAndOrderedByTheAddress(t *testing.T) {
	s := openShop()
	view := View(Config{Reader: s, Operator: s})
	for query, want := range map[string][]string{
		"":                            {"invoices", "events", "orders/audit", "orders", "customers", "returns"},
		"?health=parked":              {"orders"},
		"?find=DBO.ORD":               {"orders/audit", "orders"},
		"?find=kafka":                 {"returns"},
		"?find=orders&health=healthy": nil,
		"?sort=name":                  {"customers", "events", "invoices", "orders", "orders/audit", "returns"},
		"?sort=waiting":               {"events", "orders", "invoices", "orders/audit", "customers", "returns"},
		"?sort=oldest":                {"invoices", "events", "orders", "orders/audit", "customers", "returns"},
		"?sort=dead":                  {"orders", "invoices", "events", "orders/audit", "customers", "returns"},
		"?sort=rate":                  {"orders", "events", "customers", "invoices", "orders/audit", "returns"},
		"?sort=last":                  {"orders/audit", "invoices", "events", "customers", "orders", "returns"},
	} {
		page := get(t, view, "/api/status"+query).text
		if got := headings(page); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
	page := get(t, view, "/api/status?code=k&find=o&sort=rate").text
	for _, part := range []string{
		`href="status?code=k&amp;find=o&amp;sort=rate">Reload<`, `href="status?code=k&amp;find=o&amp;health=failing&amp;sort=rate"`,
		`href="status?code=k&amp;find=o&amp;sort=name">Poller<`, `name="code" value="k"`, `name="sort" value="rate"`,
		`<a href="status?code=k&amp;sort=rate">All pollers</a> · 6 of 6 outputs`,
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
	if none := get(t, view, "/api/status?find=%3Cb%3E").text; !strings.Contains(none, "No output is like that") ||
		strings.Contains(none, "<b>\"") || !strings.Contains(none, `value="&lt;b&gt;"`) {
		t.Error("what was looked for is not shown, or not as a text")
	}
}

// TestFewBadOutputsAreOpen: with their details; of many, each has one line that says what is wrong.
func TestFewBadOutputsAreOpen(t *testing.T) {
	for bad, open := range map[int]int{0: 0, 3: 3, 4: 0, 200: 0} {
		d := newDesk(t, token)
		d.logIn()
		at := time.Date(2026, 11, 21, 20, 29, 0, 0, time.UTC)
		d.shop.report.Outputs = nil
		for i := range bad + 2 {
			o := status.Output{Poller: fmt.Sprint("p", i), Mode: "cursor", Health: status.Healthy, Says: "It works"}
			if i < bad {
				o.Health, o.LastError = status.Failing, &status.Problem{At: &at, Text: "connection refused"}
			}
			d.shop.report.Outputs = append(d.shop.report.Outputs, o)
		}
		page := d.send("GET", "/status", "")
		d.wants("page", page, http.StatusOK)
		shown := regexp.MustCompile(`<details class="row" id="[^"]*" open>`)
		if got := len(shown.FindAllString(page.text, -1)); got != open {
			t.Errorf("%d of %d bad outputs are open, want %d", got, bad, open)
		}
		if lines := strings.Count(page.text, `<span class="wrong">connection refused</span>`); lines != bad {
			t.Errorf("%d lines say what is wrong, want %d", lines, bad)
		}
	}
}
