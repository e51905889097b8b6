package statuspage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/status"
)

// Config is what both ways of serving need.
type Config struct {
	Reader   status.Reader
	Operator status.Operator
	// Token is status__token; empty under the Functions host, and where it is not set.
	Token string
	// Keyless is the Functions host of Core Tools (func start), which asks nobody for a key: only names of this machine
	// are answered.
	Keyless bool
	// Log gets who asked for what that was not done.
	Log *slog.Logger
}

// reportTime bounds a report. The reader has a bound for each poller below it.
const reportTime = 25 * time.Second

func (c *Config) report(ctx context.Context) *status.Report {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	report := c.Reader.Report(ctx)
	return &report
}

// standalone serves the page of `rowrelay run`.
type standalone struct {
	Config
	guard    *Guard
	sessions *sessions
}

// Standalone serves /status, /status.json and below. guard is that of the token.
func Standalone(cfg Config, guard *Guard) http.Handler {
	s := &standalone{Config: cfg, guard: guard}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/status", http.StatusSeeOther))
	mux.HandleFunc("GET /status", s.viewer(s.view))
	mux.HandleFunc("GET /status.json", s.viewer(s.json))
	if cfg.Token != "" {
		s.sessions = newSessions(cfg.Token, func() time.Time { return guard.now() })
		mux.HandleFunc("POST /status/actions", s.act)
		mux.HandleFunc("POST /status/login", s.login)
		mux.HandleFunc("POST /status/logout", s.logout)
		mux.HandleFunc("GET /status/", s.back)
	} else {
		mux.HandleFunc("POST /status/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "actions need a token: set status__token", http.StatusForbidden)
		})
	}
	// Besides the token in each form and SameSite: what a browser says comes from another site is refused, the login
	// included.
	own := http.NewCrossOriginProtection()
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard.refused.tell(r, "a browser says that it comes from another site")
		http.Error(w, "a cross-origin request: the browser says that it comes from another site. Behind a proxy, it has to pass on the Host", http.StatusForbidden)
	}))
	return secured(toSameSite, own.Handler(mux))
}

// back leads whoever reloads the answer to a form, or follows an old address, to the page.
func (s *standalone) back(w http.ResponseWriter, r *http.Request) {
	if strings.TrimSuffix(r.URL.Path, "/") == "/status/actions" || r.URL.Path == "/status/" ||
		r.URL.Path == "/status/login" {
		w.Header().Set("Location", above)
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	http.NotFound(w, r)
}

// viewer lets those pass who may look.
func (s *standalone) viewer(next func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.Token == "" {
			if !isLocal(r) {
				s.guard.notLocal(w, r)
				return
			}
			next(w, r, nil)
			return
		}
		if login := s.sessions.of(r); login != nil {
			next(w, r, login)
			return
		}
		if r.Header.Get("Authorization") != "" || !wantsPage(r) {
			ok, wait := s.guard.bearer(r)
			if !ok {
				refuseBearer(w, wait)
				return
			}
			next(w, r, nil)
			return
		}
		s.ask(w, http.StatusUnauthorized, here, "")
	}
}

// wantsPage tells a browser, which says that it reads HTML, from a script.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// page begins a page for a login; nil is a script, or nobody where no token is set.
func (s *standalone) page(title string, login *session) *page {
	p := newPage(title)
	if login != nil {
		p.CSRF, p.LoggedIn, p.CanAct = login.csrf, true, true
	}
	return p
}

func (s *standalone) view(w http.ResponseWriter, r *http.Request, login *session) {
	p := s.page("Rowrelay", login)
	if !r.URL.Query().Has("do") {
		p.show(s.report(r.Context()), choiceOf(r.URL.Query()))
		p.render(w, http.StatusOK, p.statusPage())
		return
	}
	if login == nil {
		http.Error(w, "actions need a login: set status__token, and log in at /status", http.StatusForbidden)
		return
	}
	if r.URL.Query().Get("do") == doShow {
		s.letter(w, r, p)
		return
	}
	p.confirm(w, r, s.report(r.Context()))
}

// confirm answers with the page that asks before anything is done.
func (p *page) confirm(w http.ResponseWriter, r *http.Request, report *status.Report) {
	asked, err := readRequest(r.URL.Query())
	if err != nil {
		p.finish(w, http.StatusBadRequest, &done{Said: "This address is not complete: " + err.Error() + ".", Failed: true})
		return
	}
	p.App = report.App
	p.Choice = choiceOf(r.URL.Query())
	p.keepLike(report.Outputs)
	c := confirm(&asked, report)
	if c == nil {
		p.finish(w, http.StatusNotFound,
			&done{Said: "There is nothing like that any more: no such output, or no such event among those that the page lists. rowrelay deadletter list shows all, of an outbox rowrelay outbox list.", Failed: true})
		return
	}
	p.Title = c.Title
	p.render(w, http.StatusOK, p.confirmPage(c))
}

// finish answers with what came of a request.
func (p *page) finish(w http.ResponseWriter, code int, d *done) {
	p.Title = "Done"
	switch {
	case d.Failed:
		p.Title = "Not done"
	case d.But != "":
		p.Title = "Done in part"
	}
	p.render(w, code, p.donePage(d))
}

func (s *standalone) json(w http.ResponseWriter, r *http.Request, _ *session) {
	sendJSON(w, http.StatusOK, s.report(r.Context()))
}

// act carries an action out: for a form of a session, or for a script with the token.
func (s *standalone) act(w http.ResponseWriter, r *http.Request) {
	login := s.sessions.of(r)
	if login == nil {
		if ok, wait := s.guard.bearer(r); !ok {
			if r.Header.Get("Authorization") == "" && wantsPage(r) {
				s.ask(w, http.StatusUnauthorized, above, "The login has ended. Nothing was done.")
				return
			}
			refuseBearer(w, wait)
			return
		}
	}
	p := s.page("Rowrelay", login)
	p.Root = above
	answer := func(code int, d *done) {
		if login != nil && wantsPage(r) {
			p.finish(w, code, d)
			return
		}
		answerScript(w, code, d)
	}
	if code, err := readForm(w, r); err != nil {
		answer(code, &done{Said: err.Error(), Failed: true})
		return
	}
	if login != nil && !login.owns(r) {
		s.guard.refused.tell(r, "a form that is not from the login that it came with")
		answer(http.StatusForbidden, &done{Said: "This form is not from this login. Nothing was done: go back to the page and try again.", Failed: true})
		return
	}
	answer(s.perform(r, "status page, "+remote(r)))
}

// perform carries out what a form asks for, once it says that it was confirmed, and says what to answer.
func (c *Config) perform(r *http.Request, by string) (int, *done) {
	asked, err := readRequest(r.PostForm)
	if err != nil {
		return http.StatusBadRequest, &done{Said: err.Error(), Failed: true}
	}
	if r.PostForm.Get("yes") != "true" {
		return http.StatusBadRequest, &done{Said: "nothing was done: say yes=true to confirm", Failed: true}
	}
	by = asker(by)
	text, err := carryOut(r.Context(), c.Operator, asked, by)
	if err == nil {
		return http.StatusOK, &done{Said: text}
	}
	c.Log.WarnContext(r.Context(), "an action of the status page was not done, or only in part", "action", asked.Do,
		"poller", short(asked.Poller), "output", short(asked.Output),
		"by", by, "done", text, "error", err.Error())
	if text != "" {
		return statusOf(err), &done{Said: text, But: err.Error()}
	}
	return statusOf(err), &done{Said: err.Error(), Failed: true}
}

// statusOf tells what is not there, what stands against it, and what has failed.
func statusOf(err error) int {
	var refusal *status.Refusal
	switch {
	case !errors.As(err, &refusal):
		return http.StatusServiceUnavailable
	case refusal.Missing:
		return http.StatusNotFound
	}
	return http.StatusConflict
}

func answerScript(w http.ResponseWriter, code int, d *done) {
	if d.Failed {
		sendJSON(w, code, said{Error: d.Said})
		return
	}
	sendJSON(w, code, said{Done: d.Said, Error: d.But})
}

// ask shows the login.
func (s *standalone) ask(w http.ResponseWriter, code int, root, wrong string) {
	p := newPage("Rowrelay status")
	p.Root = root
	w.Header().Set("WWW-Authenticate", "Bearer")
	p.render(w, code, p.loginPage(wrong))
}

func (s *standalone) login(w http.ResponseWriter, r *http.Request) {
	if code, err := readForm(w, r); err != nil {
		http.Error(w, err.Error(), code)
		return
	}
	ok, wait := s.guard.check(r, r.PostFormValue("token"))
	switch {
	case wait > 0:
		w.Header().Set("Retry-After", seconds(wait))
		s.ask(w, http.StatusTooManyRequests, above,
			"Too many wrong tokens from this address. Try again in "+seconds(wait)+" seconds.")
	case !ok:
		s.ask(w, http.StatusUnauthorized, above, "That is not the token.")
	default:
		s.guard.log.InfoContext(r.Context(), "somebody has logged in to the status page", "from", remote(r))
		s.sessions.begin(w, r)
		w.Header().Set("Location", above)
		w.WriteHeader(http.StatusSeeOther)
	}
}

func (s *standalone) logout(w http.ResponseWriter, r *http.Request) {
	if code, err := readForm(w, r); err != nil {
		http.Error(w, err.Error(), code)
		return
	}
	if login := s.sessions.of(r); login != nil && login.owns(r) {
		s.sessions.end(w, r, login)
	}
	w.Header().Set("Location", above)
	w.WriteHeader(http.StatusSeeOther)
}

// letter shows a dead letter with its row to who has logged in: rows are for nobody else.
func (s *standalone) letter(w http.ResponseWriter, r *http.Request, p *page) {
	query, report := r.URL.Query(), s.report(r.Context())
	p.App, p.Choice = report.App, choiceOf(query)
	of, id := query.Get("poller"), query.Get("letter")
	at := slices.IndexFunc(report.Outputs, func(o status.Output) bool {
		return o.Poller == of && o.Output == query.Get("output")
	})
	if at < 0 {
		p.finish(w, http.StatusNotFound, &done{Said: "There is no such poller or output.", Failed: true})
		return
	}
	o := &report.Outputs[at]
	listed := slices.IndexFunc(o.Letters, func(l status.Letter) bool { return l.ID == id })
	if listed < 0 {
		p.finish(w, http.StatusNotFound, &done{Said: "There is no such dead letter among those that the page lists.", Failed: true})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), actionTime)
	defer cancel()
	row, err := s.Operator.Row(ctx, o.Poller, o.Output, id, asker("status page, "+remote(r)))
	if err != nil {
		p.finish(w, statusOf(err), &done{Said: err.Error(), Failed: true})
		return
	}
	var text bytes.Buffer
	if json.Indent(&text, row, "", "  ") != nil {
		text.Reset()
		text.Write(row)
	}
	shown := &letterPage{Letter: o.Letters[listed], Poller: o.Poller, Output: o.Output,
		Row: strings.ToValidUTF8(text.String()[:min(text.Len(), maxRow)], "\uFFFD"), Cut: text.Len() > maxRow,
		Command: o.Mode.Command(mode.ShowOne, o.Address(), plaintext.ShellWord(id))}
	p.Title = "Dead letter of " + fullName(o)
	p.render(w, http.StatusOK, p.letterPage(shown))
}

// maxRow is how much of a row is shown, in bytes.
const maxRow = 256 << 10
