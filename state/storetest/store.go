package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// Run holds a store to its contract. open returns an empty store, or one whose keys nobody else uses. largest is how
// many bytes it is given to keep at most: state.MaxObject, or less where an emulator takes minutes for that.
func Run(t *testing.T, largest int, open func(t *testing.T) state.Store) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s state.Store)
	}{
		{"nothing there", nothingThere},
		{"create, load, replace, delete", lifeCycle},
		{"equal content is a new version", equalContent},
		{"deleted and created again is a new version", recreated},
		{"content comes back byte for byte", contents},
		{"large content comes back byte for byte", func(t *testing.T, s state.Store) { largeContents(t, s, largest) }},
		{"odd keys are keys of their own", oddKeys},
		{"list", list},
		{"the clock moves with time", clock},
		{"an ended context has no effect", endedContext},
		{"one creation wins", createRace},
		{"no replacement is lost", replaceRace},
		{"each life has one owner", livesRace},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func nothingThere(t *testing.T, s state.Store) {
	ctx := t.Context()
	if _, err := s.Load(ctx, "state/app/none.json"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("Load: %v, want ErrNotFound", err)
	}
	if _, err := s.Replace(ctx, "state/app/none.json", []byte("{}"), "1"); !errors.Is(err, state.ErrConflict) {
		t.Errorf("Replace: %v, want ErrConflict", err)
	}
	if _, err := s.Replace(ctx, "state/app/none.json", []byte("{}"), ""); !errors.Is(err, state.ErrConflict) {
		t.Errorf("Replace of no version: %v, want ErrConflict", err)
	}
	if err := s.Delete(ctx, "state/app/none.json", "1"); !errors.Is(err, state.ErrConflict) {
		t.Errorf("Delete: %v, want ErrConflict", err)
	}
	if keys, err := s.List(ctx, "state/"); err != nil || len(keys) != 0 {
		t.Errorf("List: %v, %v, want nothing", keys, err)
	}
	if _, err := s.Load(ctx, "state/app/none.json"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("Load after all that: %v, want ErrNotFound", err)
	}
}

func lifeCycle(t *testing.T, s state.Store) {
	ctx, key := t.Context(), "state/app/orders.json"
	first := create(t, s, key, "one")
	if got := load(t, s, key); string(got.Data) != "one" || got.Version != first.Version {
		t.Errorf("loaded %q version %s, want one version %s", got.Data, got.Version, first.Version)
	}
	if _, err := s.Create(ctx, key, []byte("x")); !errors.Is(err, state.ErrConflict) {
		t.Errorf("second Create: %v, want ErrConflict", err)
	}
	second, err := s.Replace(ctx, key, []byte("two"), first.Version)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Replace(ctx, key, []byte("x"), first.Version); !errors.Is(err, state.ErrConflict) {
		t.Errorf("Replace of an old version: %v, want ErrConflict", err)
	}
	if err := s.Delete(ctx, key, first.Version); !errors.Is(err, state.ErrConflict) {
		t.Errorf("Delete of an old version: %v, want ErrConflict", err)
	}
	if got := load(t, s, key); string(got.Data) != "two" || got.Version != second.Version {
		t.Errorf("loaded %q version %s, want two version %s", got.Data, got.Version, second.Version)
	}
	if err := s.Delete(ctx, key, second.Version); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(ctx, key); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("Load of a deleted document: %v, want ErrNotFound", err)
	}
}

func equalContent(t *testing.T, s state.Store) {
	key := "state/app/orders.json"
	first := create(t, s, key, "same")
	second, err := s.Replace(t.Context(), key, []byte("same"), first.Version)
	if err != nil {
		t.Fatal(err)
	}
	if first.Version == second.Version {
		t.Errorf("both writes have version %s", first.Version)
	}
}

func recreated(t *testing.T, s state.Store) {
	key := "state/app/orders.json"
	first := create(t, s, key, "same")
	if err := s.Delete(t.Context(), key, first.Version); err != nil {
		t.Fatal(err)
	}
	if second := create(t, s, key, "same"); first.Version == second.Version {
		t.Errorf("both lives have version %s", first.Version)
	}
}

func contents(t *testing.T, s state.Store) {
	for i, content := range []string{
		"", `{"a":"<&>\u003c"}` + "\r\n", "\x00\xff\xfe binary", string(bytes.Repeat([]byte("x"), state.MaxDocument)), " ",
	} {
		key := fmt.Sprintf("state/app/%d.json", i)
		create(t, s, key, content)
		if got := load(t, s, key); string(got.Data) != content {
			t.Errorf("content %d: got %d bytes back that differ", i, len(got.Data))
		}
	}
}

// largeContents holds what side objects may take, and the sizes at which a store may begin another chunk.
func largeContents(t *testing.T, s state.Store, largest int) {
	content := make([]byte, largest)
	for i := range content {
		content[i] = byte(i>>8*31 + i) // no two MiB are alike
	}
	for i, size := range slices.Compact([]int{8 << 20, 8<<20 + 1, largest}) {
		key := fmt.Sprintf("objects/app/orders/memory-%d", i)
		stamp, err := s.Create(t.Context(), key, content[:size])
		if err != nil {
			t.Fatalf("Create of %d bytes: %v", size, err)
		}
		if got := load(t, s, key); !bytes.Equal(got.Data, content[:size]) || got.Version != stamp.Version {
			t.Errorf("%d bytes: got %d back, version %s for %s", size, len(got.Data), got.Version, stamp.Version)
		}
		if err := s.Delete(t.Context(), key, stamp.Version); err != nil {
			t.Errorf("Delete of %d bytes: %v", size, err)
		}
	}
}

// oddNames are keys that file systems and URLs like to mistake for each other, or for something else.
var oddNames = []string{
	"state/app/orders.json", "state/App/orders.json", "state/app/Orders.json", "state/app/orders.backup.json",
	"state/app/orders.json.lock", "state/app/~orders.json.lock", "state/app/con.json", "state/app/com1.json",
	"state/a b/o%20o.json", "state/a b/o o.json", "state/a+b/o?x=1&y#z.json", "state/größe/ключ.json", "state/../up.json",
	"state/app/a:b*c|d\"e<f>.json", "state/app/.hidden", "state/app/trailing", "state/o'hara/100%.json",
}

func oddKeys(t *testing.T, s state.Store) {
	for _, key := range oddNames {
		create(t, s, key, "content of "+key)
	}
	for _, key := range oddNames {
		if got := load(t, s, key); string(got.Data) != "content of "+key {
			t.Errorf("%q holds %q", key, got.Data)
		}
	}
	got, err := s.List(t.Context(), "state/")
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(oddNames))
	if !slices.Equal(got, want) {
		t.Errorf("List:\n got %q\nwant %q", got, want)
	}
}

func list(t *testing.T, s state.Store) {
	for _, key := range []string{
		"state/b/two.json", "state/a/one.json", "state/a/three.json", "state/ab/four.json",
		"objects/a/one/parked-x", "objects/a/one.audit/parked-y", "objects/A/one/parked-z",
	} {
		create(t, s, key, "{}")
	}
	for prefix, want := range map[string][]string{
		"state/":         {"state/a/one.json", "state/a/three.json", "state/ab/four.json", "state/b/two.json"},
		"state/a/":       {"state/a/one.json", "state/a/three.json"},
		"state/a/t":      {"state/a/three.json"},
		"state/none/":    nil,
		"objects/a/one/": {"objects/a/one/parked-x"},
		"objects/a/one":  {"objects/a/one.audit/parked-y", "objects/a/one/parked-x"},
		"objects/A/one/": {"objects/A/one/parked-z"},
		"obj":            {"objects/A/one/parked-z", "objects/a/one.audit/parked-y", "objects/a/one/parked-x"},
	} {
		if got, err := s.List(t.Context(), prefix); err != nil || !slices.Equal(got, want) {
			t.Errorf("List(%q) = %q, %v, want %q", prefix, got, err, want)
		}
	}
}

// clock holds the store's clock to the local one only as far as Azure's resolution and a slow machine allow.
func clock(t *testing.T, s state.Store) {
	key := "state/app/orders.json"
	before := time.Now()
	first := create(t, s, key, "one")
	second, err := s.Replace(t.Context(), key, []byte("two"), first.Version)
	if err != nil {
		t.Fatal(err)
	}
	third := load(t, s, key)
	if first.Now.Before(before.Add(-5 * time.Second)) {
		t.Errorf("the first answer says %s, the request was sent at %s", first.Now, before)
	}
	if second.Now.Before(first.Now) || third.Now.Before(second.Now) {
		t.Errorf("the clock went back: %s, %s, %s", first.Now, second.Now, third.Now)
	}
	if margin := s.Margin(time.Minute); margin < 0 || margin > 15*time.Second {
		t.Errorf("a margin of %s for a ttl of a minute", margin)
	}
}

func endedContext(t *testing.T, s state.Store) {
	key := "state/app/orders.json"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Create(ctx, key, []byte("x")); err == nil {
		t.Error("Create succeeded")
	}
	first := create(t, s, key, "one")
	if _, err := s.Replace(ctx, key, []byte("x"), first.Version); err == nil {
		t.Error("Replace succeeded")
	}
	if _, err := s.Load(ctx, key); err == nil {
		t.Error("Load succeeded")
	}
	if got := load(t, s, key); string(got.Data) != "one" {
		t.Errorf("the document is %q", got.Data)
	}
}

const racers = 16

func createRace(t *testing.T, s state.Store) {
	key := "state/app/orders.json"
	var won atomic.Int32
	var winner atomic.Value
	parallel(func(i int) {
		_, err := s.Create(t.Context(), key, fmt.Append(nil, i))
		switch {
		case err == nil:
			won.Add(1)
			winner.Store(fmt.Sprint(i))
		case !errors.Is(err, state.ErrConflict):
			t.Errorf("Create: %v, want ErrConflict", err)
		}
	})
	if won.Load() != 1 {
		t.Fatalf("%d creations won", won.Load())
	}
	if got := load(t, s, key); string(got.Data) != winner.Load() {
		t.Errorf("stored is %q, the winner wrote %v", got.Data, winner.Load())
	}
}

// replaceRace lets many count in one document: a lost or doubled write shows in the sum.
func replaceRace(t *testing.T, s state.Store) {
	key := "state/app/orders.json"
	create(t, s, key, "0")
	const each = 5
	var mu sync.Mutex
	versions := map[state.Version]int{}
	parallel(func(int) {
		for done := 0; done < each; {
			got, err := s.Load(t.Context(), key)
			if err != nil {
				t.Errorf("Load: %v", err)
				return
			}
			var n int
			if _, err := fmt.Sscan(string(got.Data), &n); err != nil {
				t.Errorf("torn read %q: %v", got.Data, err)
				return
			}
			stamp, err := s.Replace(t.Context(), key, fmt.Append(nil, n+1), got.Version)
			if errors.Is(err, state.ErrConflict) {
				continue
			}
			if err != nil {
				t.Errorf("Replace: %v", err)
				return
			}
			mu.Lock()
			versions[stamp.Version]++
			mu.Unlock()
			done++
		}
	})
	if got := load(t, s, key); string(got.Data) != fmt.Sprint(racers*each) {
		t.Errorf("counted to %s, want %d", got.Data, racers*each)
	}
	if len(versions) != racers*each {
		t.Errorf("%d versions for %d writes", len(versions), racers*each)
	}
}

// livesRace lets many create, change and delete one document: who created it is the only one to change and delete it.
func livesRace(t *testing.T, s state.Store) {
	key := "objects/app/orders/parked-x"
	const lives = 30
	var begun atomic.Int32
	parallel(func(i int) {
		for begun.Load() < lives && !t.Failed() {
			stamp, err := s.Create(t.Context(), key, fmt.Append(nil, i))
			if errors.Is(err, state.ErrConflict) {
				continue
			}
			if err == nil {
				begun.Add(1)
				stamp, err = s.Replace(t.Context(), key, fmt.Append(nil, i), stamp.Version)
			}
			if err == nil {
				var got state.Stored
				if got, err = s.Load(t.Context(), key); err == nil && string(got.Data) != fmt.Sprint(i) {
					t.Errorf("%d created it, it holds %s", i, got.Data)
				}
			}
			if err == nil {
				err = s.Delete(t.Context(), key, stamp.Version)
			}
			if err != nil {
				t.Errorf("the creator of the document: %v", err)
				return
			}
		}
	})
	if keys, err := s.List(t.Context(), ""); err != nil || len(keys) > 0 {
		t.Errorf("left behind: %q, %v", keys, err)
	}
}

func parallel(do func(i int)) {
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func create(t *testing.T, s state.Store, key, content string) state.Stamp {
	t.Helper()
	stamp, err := s.Create(t.Context(), key, []byte(content))
	if err != nil {
		t.Fatalf("Create(%q): %v", key, err)
	}
	return stamp
}

func load(t *testing.T, s state.Store, key string) state.Stored {
	t.Helper()
	stored, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatalf("Load(%q): %v", key, err)
	}
	return stored
}
