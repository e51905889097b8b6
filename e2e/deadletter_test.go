package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// refuseAs returns an answer that turns down every request that holds one of these versions, with the version's status.
func refuseAs(statuses map[int]int) func(http.ResponseWriter, []cloudEvent) bool {
	return func(w http.ResponseWriter, events []cloudEvent) bool {
		for _, e := range events {
			for version, status := range statuses {
				if fmt.Sprint(e.Data["version"]) == fmt.Sprint(version) {
					w.WriteHeader(status)
					return false
				}
			}
		}
		return true
	}
}

// giveUp runs the poller until there are n dead letters. Each time there is a new row, which shows that the destination
// works.
func giveUp(t *testing.T, dir string, s settings, insert func(version int), n int) []map[string]any {
	t.Helper()
	var letters []map[string]any
	version := 1000
	until(t, "the dead letters", func() bool {
		version++
		insert(version)
		_, _, _ = command(t, dir, s, "run", "--once") // what counts is what becomes of the events
		letters = deadLetters(t, s)
		return len(letters) >= n
	})
	return letters
}

// TestDeadLetterCommands: list by filters, dry runs, purge of some and by id, replay as recorded, questions and
// refusals.
func TestDeadLetterCommands(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	to.decide(refuseAs(map[int]int{2: 422, 3: 400, 4: 413}))
	s, db := sqliteShop(t, to.URL, 6)
	s = quick(s)
	dir := t.TempDir()
	letters := giveUp(t, dir, s, func(v int) {
		execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, v)
	}, 3)
	id := map[string]string{}
	for _, letter := range letters {
		id[fmt.Sprint(letter["status"])] = fmt.Sprint(letter["id"])
	}
	say := func(args ...string) string {
		t.Helper()
		out, errs, err := command(t, dir, s, append([]string{"deadletter"}, args...)...)
		if err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, out, errs)
		}
		return out + errs
	}
	for args, want := range map[string]string{
		"list orders":                                       "3 dead letter(s)",
		"list orders --reason Bad":                          "1 dead letter(s)",
		`list orders --key {"id":4}`:                        "1 dead letter(s)",
		"list orders --cause refused --since 1h":            "3 dead letter(s)",
		"list orders --cause impossible":                    "0 dead letter(s)",
		"list orders --until 1h":                            "0 dead letter(s)",
		"purge orders --dry-run --reason Large":             "dry run: nothing was changed",
		"replay orders --dry-run":                           "3 row(s) will be read again",
		"replay orders --dry-run --as-recorded --key 3":     "BREAKS THE ORDER",
		"purge orders --yes --reason no-such-reason":        "there are no such dead letters",
		"replay orders --yes --cause impossible --since 1h": "there are no such dead letters",
	} {
		wants(t, say(strings.Fields(args)...), want)
	}
	for args, want := range map[string]string{
		"show orders nobody":                 "has no dead letter nobody",
		"purge orders nobody --yes":          "has no dead letter nobody",
		"list nobody":                        `there is no poller "nobody"`,
		"purge orders --key 2":               "nothing was changed", // not confirmed: the end of input
		"replay orders --as-recorded":        "nothing was changed",
		"purge orders --output audit":        `no output "audit"`,
		"purge orders --parked --yes nobody": "has no parked event nobody",
	} {
		code, said := answering(t, dir, s, "", append([]string{"deadletter"}, strings.Fields(args)...)...)
		if code != 1 || !strings.Contains(said, want) {
			t.Errorf("%s: %d %s", args, code, said)
		}
	}
	for args, want := range map[string]string{
		"list orders --cause sad":                     "unavailable, refused or impossible",
		"replay orders --yes --cause sad":             "unavailable, refused or impossible",
		"purge orders --yes --key 9 " + id["400"]:     "not both",
		"replay orders --yes --since 1h " + id["400"]: "not both",
	} {
		code, said := answering(t, dir, s, "", append([]string{"deadletter"}, strings.Fields(args)...)...)
		if code != 2 || !strings.Contains(said, want) {
			t.Errorf("%s: %d %s", args, code, said)
		}
	}
	if left := deadLetters(t, s); len(left) != 3 {
		t.Fatalf("dry runs and refusals left %v", left)
	}
	wants(t, say("purge", "orders", "--yes", "--reason", "Large"), "done: 1", "deadletter_purged")
	wants(t, say("purge", "orders", id["400"], id["400"], "--yes"), "done: 1")

	// The row has changed meanwhile: what is recorded goes out under its own id, after the newer state.
	execute(t, db, `UPDATE orders SET version = 5000 WHERE id = 2`)
	once(t, dir, s)
	to.decide(nil)
	if code, said := answering(t, dir, s, "orders\n", "deadletter", "replay", "orders", "--as-recorded"); code != 0 ||
		!strings.Contains(said, "BREAKS THE ORDER") {
		t.Errorf("%d %s", code, said)
	}
	to.mu.Lock()
	if to.accepted[id["422"]] != 1 || fmt.Sprint(to.rows[id["422"]]["version"]) != "2" {
		t.Errorf("the recorded event %s came %d times: %v", id["422"], to.accepted[id["422"]], to.rows[id["422"]])
	}
	to.mu.Unlock()
	if came := to.column("version"); came["5000"] != 1 || came["3"] != 0 || came["4"] != 0 {
		t.Errorf("what was purged came, or the newer state did not: %v", came)
	}
	if left := deadLetters(t, s); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if v := showState(t, dir, s); v.Held != "" {
		t.Errorf("the replay kept the lease: %+v", v)
	}
}

// TestBlockedUntilReplayedOrPurged: with after_dead_letter=block a key stays parked after its dead letter, whatever
// becomes of its row, until an operator replays it or purges it; then its newest state goes on, whichever it was. Other
// keys flow.
func TestBlockedUntilReplayedOrPurged(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"replay", "purge", "replay --as-recorded"} {
		for _, changed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/changed=%t", how, changed), func(t *testing.T) {
				t.Parallel()
				to := newSink(t)
				to.decide(refuse(422, 2))
				s, db := sqliteShop(t, to.URL, 6)
				s = quick(s).with(settings{"pollers__orders__after_dead_letter": "block"})
				dir := t.TempDir()
				giveUp(t, dir, s, func(v int) { execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, v) }, 1)
				wants(t, stdout(t, dir, s, "state", "show", "orders"), `parked       {"id":2}`,
					"blocked until it is replayed or purged")
				to.decide(nil)
				if changed {
					execute(t, db, `UPDATE orders SET version = 5000, status = 'corrected' WHERE id = 2`)
				}
				execute(t, db, `INSERT INTO orders (version, status) VALUES (6000, 'new')`)
				once(t, dir, s)
				if came := to.column("version"); came["2"] != 0 || came["5000"] != 0 || came["6000"] != 1 {
					t.Errorf("while the key was blocked: %v", came)
				}
				operate(t, dir, s, append([]string{"deadletter"}, append(strings.Fields(how), "orders")...)...)
				once(t, dir, s)
				once(t, dir, s)
				old, newest := 0, 0
				if how == "replay" && !changed || how == "replay --as-recorded" {
					old = 1
				}
				if changed {
					newest = 1
				}
				if came := to.column("version"); came["2"] != old || came["5000"] != newest {
					t.Errorf("afterwards version 2 came %d times, want %d, and the newest state %d times, want %d", came["2"], old,
						came["5000"], newest)
				}
				if out := stdout(t, dir, s, "state", "show", "orders"); strings.Contains(out, "parked") {
					t.Errorf("still parked:\n%s", out)
				}
				if left := deadLetters(t, s); len(left) != 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
	}
}

// buriedInQueue is quick, with dead letters in a queue of the test's own.
func buriedInQueue(t *testing.T, s settings) (settings, string, *azqueue.QueueClient) {
	t.Helper()
	queue := unique("dead")
	s = quick(s).with(settings{
		"AzureWebJobsStorage": testenv.Azurite(t), "pollers__orders__dead_letter__kind": "queue",
		"pollers__orders__dead_letter__connection": "AzureWebJobsStorage", "pollers__orders__dead_letter__queue": queue,
	})
	client, err := azqueue.NewQueueClientFromConnectionString(s["AzureWebJobsStorage"], queue, nil)
	if err != nil {
		t.Fatal("the storage connection string cannot be read")
	}
	if _, err := client.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return s, queue, client
}

// TestDeadLetterQueue: with dead_letter__kind=queue the record, with its row, is a message; the commands say where it
// is, and let the key go that is blocked by it.
func TestDeadLetterQueue(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	to.decide(refuse(422, 2))
	s, db := sqliteShop(t, to.URL, 6)
	s, queue, client := buriedInQueue(t, s)
	s["pollers__orders__after_dead_letter"] = "block"
	dir := t.TempDir()
	var letter map[string]any
	version := 1000
	until(t, "the message", func() bool {
		version++
		execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, version)
		once(t, dir, s)
		page, err := client.DequeueMessages(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Messages {
			text, err := base64.StdEncoding.DecodeString(*m.MessageText)
			if err != nil {
				t.Fatalf("not base64: %v", err)
			}
			if err := json.Unmarshal(text, &letter); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
		}
		return letter != nil
	})
	row, _ := letter["row"].(map[string]any)
	if fmt.Sprint(row["version"]) != "2" || fmt.Sprint(letter["attempts"]) != "3" ||
		fmt.Sprint(letter["status"]) != "422" || letter["id"] == "" {
		t.Errorf("the message is %v", letter)
	}
	out, errs, err := command(t, dir, s, "deadletter", "list", "orders")
	if err != nil {
		t.Fatal(err, errs)
	}
	wants(t, out, "0 dead letter(s)")
	wants(t, errs, queue, "dead_letter__kind=queue")
	wants(t, refusal(t, dir, s, "deadletter", "show", "orders", fmt.Sprint(letter["id"])), queue)
	wants(t, refusal(t, dir, s, "deadletter", "replay", "orders", "--as-recorded", "--yes"), "lies in a queue")
	to.decide(nil)
	wants(t, operate(t, dir, s, "deadletter", "replay", "orders", fmt.Sprint(letter["id"])), "done: 1")
	once(t, dir, s)
	if came := to.column("version"); came["2"] != 1 {
		t.Errorf("after the replay: %v", came)
	}
}

// TestRowsThatCannotBeSent: a row beyond max_row_bytes holds up nobody: it becomes a dead letter without its row.
func TestRowsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 3)
	s = quick(s).with(settings{"pollers__orders__max_row_bytes": "1KiB"})
	execute(t, db, `UPDATE orders SET status = ? WHERE id = 2`, strings.Repeat("x", 5000))
	dir := t.TempDir()
	once(t, dir, s)
	if came := to.column("version"); came["1"] != 1 || came["3"] != 1 || len(came) != 2 {
		t.Errorf("with the first tick came %v", came)
	}
	letters := giveUp(t, dir, s, func(v int) {
		execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, v)
	}, 1)
	if l := letters[0]; l["cause"] != "impossible" || l["row"] != nil ||
		!strings.Contains(fmt.Sprint(l["reason"]), "max_row_bytes") {
		t.Errorf("the dead letter is %v", l)
	}
	wants(t, refusal(t, dir, s, "deadletter", "replay", "orders", "--as-recorded", "--yes"),
		"replay it without --as-recorded")
	// It is mended in the source: a replay reads it anew.
	execute(t, db, `UPDATE orders SET status = 'short' WHERE id = 2`)
	operate(t, dir, s, "deadletter", "replay", "orders")
	once(t, dir, s)
	if came := to.column("version"); came["2"] == 0 || len(deadLetters(t, s)) != 0 {
		t.Errorf("after the replay came %v; left %v", came, deadLetters(t, s))
	}
}

// TestReplayKeepsWhatIsGone: where the row does not come any more, the record is the only copy: a replay keeps it, and
// fails.
func TestReplayKeepsWhatIsGone(t *testing.T) {
	t.Parallel()
	for _, block := range []string{"release", "block"} {
		t.Run(block, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			to.decide(refuse(422, 2, 3))
			s, db := sqliteShop(t, to.URL, 6)
			s = quick(s).with(settings{"pollers__orders__source__where": "status <> 'done'",
				"pollers__orders__after_dead_letter": block})
			dir := t.TempDir()
			giveUp(t, dir, s, func(v int) { execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, v) }, 2)
			execute(t, db, `UPDATE orders SET status = 'done' WHERE id = 2`)
			to.decide(nil)
			out, errs, err := command(t, dir, s, "deadletter", "replay", "orders", "--yes")
			if exitCode(t, err) != 1 {
				t.Errorf("%s%s", out, errs)
			}
			wants(t, out+errs, "done: 1", "1 of 2 dead letter(s) are kept", "--as-recorded", "rowrelay deadletter purge")
			once(t, dir, s)
			if came := to.column("version"); came["2"] != 0 || came["3"] != 1 {
				t.Errorf("after the replay: %v", came)
			}
			left := deadLetters(t, s)
			if len(left) != 1 {
				t.Fatalf("left: %v", left)
			}
			if row, _ := left[0]["row"].(map[string]any); fmt.Sprint(row["version"]) != "2" {
				t.Errorf("left: %v", left)
			}
			wants(t, operate(t, dir, s, "deadletter", "replay", "orders", "--as-recorded"), "done: 1")
			if came := to.column("version"); came["2"] != 1 || len(deadLetters(t, s)) != 0 {
				t.Errorf("as recorded: %v", came)
			}
		})
	}
}
