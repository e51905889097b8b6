package e2e

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/filestore"
)

// replaying is a process that carries out a replay asked for on its status page: a tick is at work, whose request the
// receiver holds, so that the poller is paused and its lease is waited for.
type replaying struct {
	process  *programtest.Process
	settings settings
	db       *sql.DB
	dir      string
	home     string
	release  func()        // lets the receiver answer
	answered chan struct{} // closed when the asker has an answer, or none will come
}

var withStatusToken = []string{"Authorization", "Bearer " + statusToken, "Content-Type",
	"application/x-www-form-urlencoded"}

func startReplay(t *testing.T) *replaying {
	t.Helper()
	const refused, held = 2.0, 7.0
	reached, release := make(chan struct{}), make(chan struct{})
	to := newSink(t)
	begun := false
	to.decide(func(w http.ResponseWriter, events []cloudEvent) bool {
		for _, e := range events {
			switch e.Data["version"] {
			case refused:
				w.WriteHeader(http.StatusUnprocessableEntity)
				return false
			case held:
				if !begun {
					begun = true
					close(reached)
				}
				to.mu.Unlock()
				<-release
				to.mu.Lock()
			}
		}
		return true
	})
	p := &replaying{dir: t.TempDir(), answered: make(chan struct{})}
	released := false
	p.release = func() {
		if !released {
			released = true
			close(release)
		}
	}
	t.Cleanup(p.release)
	p.settings, p.db = sqliteShop(t, to.URL, 6)
	address := programtest.FreeAddress(t)
	p.home = "http://" + address
	p.settings = p.settings.with(settings{
		"status__listen": address, "status__token": statusToken, "pollers__orders__schedule": "* * * * * *",
		"pollers__orders__lease_ttl":    "5s",
		"pollers__orders__max_attempts": "1", "pollers__orders__output__batch": "1", "pollers__orders__output__retries": "1",
	})
	p.process = startRun(t, p.dir, p.settings)
	letter := ""
	p.process.Until("a dead letter on the page", func() bool {
		if !strings.Contains(p.process.Log(), `"msg":"running"`) {
			return false
		}
		for _, o := range read(t, p.home+"/status.json", withStatusToken...).Outputs {
			if len(o.Letters) == 1 {
				letter = o.Letters[0].ID
			}
		}
		return letter != ""
	})
	execute(t, p.db, `INSERT INTO orders (version, status) VALUES (7, 'new')`)
	<-reached
	go func() {
		defer close(p.answered)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.home+"/status/actions",
			strings.NewReader("do=replay&poller=orders&yes=true&letter="+letter))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set(withStatusToken[0], withStatusToken[1])
		req.Header.Set(withStatusToken[2], withStatusToken[3])
		if res, err := http.DefaultClient.Do(req); err == nil { // the process may end before it has answered
			_ = res.Body.Close()
		}
	}()
	p.process.Until("the pause for the replay", func() bool {
		return p.pausedBy(t) == "status page, 127.0.0.1, for a replay"
	})
	return p
}

// pausedBy is who has paused the poller, as the command shows it.
func (p *replaying) pausedBy(t *testing.T) string {
	t.Helper()
	by, _ := showState(t, p.dir, p.settings).Paused["by"].(string)
	return by
}

// TestADeathInTheMiddleOfAReplay: the pause is over when it says, by the store's clock. The log of the process that
// goes on tells of it.
func TestADeathInTheMiddleOfAReplay(t *testing.T) {
	t.Parallel()
	p := startReplay(t)
	p.process.Kill()
	p.release()
	<-p.answered
	if by := p.pausedBy(t); by != "status page, 127.0.0.1, for a replay" {
		t.Fatalf("paused by %q", by)
	}
	next := startRun(t, p.dir, p.settings)
	page := p.home + "/status.json"
	next.Until("a tick that finds the pause", func() bool {
		return strings.Contains(next.Log(), `"msg":"running"`) &&
			read(t, page, withStatusToken...).health()["orders"] == "paused"
	})
	_, text := ask(t, http.MethodGet, p.home+"/status", "", append(withStatusToken, "Accept", "text/html")...)
	wants(t, text, "status page, 127.0.0.1, for a replay", "it ends by itself")

	// It lasts a minute. The test does not wait for that: it puts the end to now.
	store, err := filestore.New(p.settings["state__path"])
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := state.New(state.Config{Store: store, Key: state.Key("shop", "orders", ""), Poller: "orders",
		Owner: "test", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keeper.Amend(t.Context(), func(d *state.Document) error {
		if d.Paused == nil || d.Paused.Until.Sub(d.Paused.At) < 50*time.Second ||
			d.Paused.Until.Sub(d.Paused.At) > 70*time.Second {
			t.Errorf("%+v", d.Paused)
			return nil
		}
		ended := *d.Paused
		ended.Until = time.Now()
		d.Paused = &ended
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	next.Until("the row that waited", func() bool {
		view := showState(t, p.dir, p.settings)
		return view.reached() == 7
	})
	// A tick is logged after its commit.
	next.Until("the pause's end, in the log", func() bool {
		return strings.Count(next.Log(), "resumed, after a replay whose process ended") == 1
	})
	r := read(t, page, withStatusToken...)
	if by := pausedBy(r, "orders"); by != "" || r.health()["orders"] == "paused" {
		t.Errorf("the page says that it is paused by %q: %s", by, r.health()["orders"])
	}
	if by := p.pausedBy(t); by != "" {
		t.Errorf("paused by %q", by)
	}
	if code := next.Interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
