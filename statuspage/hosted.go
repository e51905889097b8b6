package statuspage

import (
	"net/http"
	"net/url"
	"strings"
)

// View serves the page and its JSON under the Functions host, which has asked for a function key: at the address of the
// function `status`, JSON where that ends in .json.
func View(cfg Config) http.Handler {
	return cfg.hosted(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, "the page is read with GET", http.StatusMethodNotAllowed)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".json") {
			sendJSON(w, http.StatusOK, cfg.report(r.Context()))
			return
		}
		p := newPage("Rowrelay")
		p.Hosted, p.CanAct = true, true
		if code := r.URL.Query().Get("code"); code != "" {
			p.Carry = url.Values{"code": {code}}
		}
		if r.URL.Query().Has("do") {
			p.confirm(w, r, cfg.report(r.Context()))
			return
		}
		p.show(cfg.report(r.Context()), choiceOf(r.URL.Query()))
		p.render(w, http.StatusOK, p.statusPage())
	})
}

// hosted answers where the host has asked for a key. Without keys, a web site could make a name of its own point to
// this machine.
func (c *Config) hosted(next http.HandlerFunc) http.Handler {
	return Secured(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.Keyless && !isLocal(r) {
			http.Error(w, "func start asks for no key, so that this page is for this machine only: ask for it as http://localhost:PORT", http.StatusForbidden)
			return
		}
		next(w, r)
	}))
}

// Actions carries out actions under the Functions host, which has asked for the admin key. The key comes in a header,
// which no form and no other site can send; identity says who asked, "" where nobody vouches for a name.
func Actions(cfg Config, identity func(*http.Request) string) http.Handler {
	act := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			answerScript(w, http.StatusMethodNotAllowed, &done{Said: "an action is a POST", Failed: true})
			return
		}
		// A key in the address is kept in logs and histories: the host takes it there, we do not.
		if r.URL.Query().Has("code") {
			answerScript(w, http.StatusBadRequest,
				&done{Said: "send the admin key in the header x-functions-key, never in the address", Failed: true})
			return
		}
		if code, err := readForm(w, r); err != nil {
			answerScript(w, code, &done{Said: err.Error(), Failed: true})
			return
		}
		by := "status page, admin key"
		if name := identity(r); name != "" {
			by = "status page, " + name
		}
		code, d := cfg.perform(r, by)
		answerScript(w, code, d)
	})
	return cfg.hosted(http.NewCrossOriginProtection().Handler(act).ServeHTTP)
}

// EasyAuth names who asks by the headers of App Service Authentication. They are believed only where that is on
// (enabled is the value of WEBSITE_AUTH_ENABLED): it takes such headers out of what comes from outside, and otherwise
// anybody could send them.
func EasyAuth(enabled string) func(*http.Request) string {
	on := strings.EqualFold(strings.TrimSpace(enabled), "true")
	return func(r *http.Request) string {
		if !on {
			return ""
		}
		name, id := r.Header.Get("X-MS-CLIENT-PRINCIPAL-NAME"), r.Header.Get("X-MS-CLIENT-PRINCIPAL-ID")
		switch {
		case name != "" && id != "":
			return name + " (" + id + ")"
		case name != "":
			return name
		default:
			return id
		}
	}
}
