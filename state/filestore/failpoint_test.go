package filestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/state"
)

const key = "state/shop/orders.json"

// TestFailureAtEachStep: a write that fails, or a process that dies, at any step leaves the old document or the new
// one, whole, and the next write works.
func TestFailureAtEachStep(t *testing.T) {
	for step, want := range map[string]string{"write": "old", "sync": "old", "rename": "old", "sync directory": "new"} {
		t.Run(step, func(t *testing.T) {
			dir := t.TempDir()
			s := newStore(t, dir)
			old, err := s.Create(t.Context(), key, []byte("old"))
			if err != nil {
				t.Fatal(err)
			}
			s.step = func(name string) error {
				if name == step {
					return &os.PathError{Op: name, Path: "x", Err: syscall.ENOSPC}
				}
				return nil
			}
			_, err = s.Replace(t.Context(), key, []byte("new"), old.Version)
			if err == nil || !strings.Contains(err.Error(), "disk under state__path is full") {
				t.Errorf("a full disk: %v", err)
			}
			var permanent *state.PermanentError
			if errors.As(err, &permanent) {
				t.Error("a full disk is not worth a repetition, it says")
			}
			// Another process looks, and goes on.
			other := newStore(t, dir)
			got, err := other.Load(t.Context(), key)
			if err != nil || string(got.Data) != want {
				t.Fatalf("stored %q, %v, want %s", got.Data, err, want)
			}
			if changed := want == "new"; changed != (got.Version != old.Version) {
				t.Errorf("version before %s, after %s: it must change with the document", old.Version, got.Version)
			}
			if _, err := other.Replace(t.Context(), key, []byte("next"), got.Version); err != nil {
				t.Error(err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "state", "shop", "*.tmp")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

// TestAFullDiskIsNotFilled: a document that could not be created leaves nothing beside it, however often that is tried,
// and is created when there is room.
func TestAFullDiskIsNotFilled(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir)
	for _, step := range []string{"write", "sync", "rename"} {
		s.step = func(name string) error {
			if name == step {
				return &os.PathError{Op: name, Path: "x", Err: syscall.ENOSPC}
			}
			return nil
		}
		if _, err := s.Create(t.Context(), key, []byte("new")); err == nil {
			t.Errorf("%s: no error", step)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "state", "shop")); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", step, left, err)
		}
	}
	s.step = nil
	if _, err := s.Create(t.Context(), key, []byte("new")); err != nil {
		t.Error(err)
	}
}

// TestPlainFile: an operator finds the document where the key says, as it was written.
func TestPlainFile(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir)
	first, err := s.Create(t.Context(), key, []byte("{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "state", "shop", "orders.json")
	if data, err := os.ReadFile(file); err != nil || string(data) != "{}\n" {
		t.Fatalf("the file holds %q, %v", data, err)
	}
	// An edit by hand counts as a change.
	testfile.Write(t, file, "{ }\n")
	if _, err := s.Replace(t.Context(), key, []byte("x"), first.Version); !errors.Is(err, state.ErrConflict) {
		t.Errorf("writing over an edit by hand: %v, want ErrConflict", err)
	}
	// And so does one whose counter was lost.
	edited, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, counterFile(file), "torn")
	if _, err := s.Replace(t.Context(), key, []byte("x"), edited.Version); !errors.Is(err, state.ErrConflict) {
		t.Errorf("writing with a lost counter: %v, want ErrConflict", err)
	}
}

func TestLoadLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	if _, err := newStore(t, dir).Load(t.Context(), key); !errors.Is(err, state.ErrNotFound) {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestDeleteLeavesNothingBehind: side objects come and go by the thousand, and so must what helps to write them.
func TestDeleteLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir)
	stamp, err := s.Create(t.Context(), key, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), key, stamp.Version); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "state", "shop")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestForeignLock: a process that was stopped in the middle of a write keeps its lock. Others wait as long as their
// context lasts, and say which file it is.
func TestForeignLock(t *testing.T) {
	s := newStore(t, t.TempDir())
	stamp, err := s.Create(t.Context(), key, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	file := lockFile(s.file(key))
	foreign := flock.New(file)
	if err := foreign.Lock(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = foreign.Close() }()
	over := errors.New("the state store did not answer in time")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, over)
	defer cancel()
	for name, ask := range map[string]func() error{
		"load":    func() error { _, err := s.Load(ctx, key); return err },
		"replace": func() error { _, err := s.Replace(ctx, key, []byte("{}"), stamp.Version); return err },
		"delete":  func() error { return s.Delete(ctx, key, stamp.Version) },
	} {
		if err := ask(); !errors.Is(err, over) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNotADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testfile.Write(t, file, "")
	_, err := New(filepath.Join(file, "below"))
	var permanent *state.PermanentError
	if !errors.As(err, &permanent) || !strings.Contains(err.Error(), "state__path") {
		t.Errorf("got %v, want a permanent fault that names state__path", err)
	}
}

func newStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func FuzzNames(f *testing.F) {
	f.Add("state/App/o r%d/../con.json")
	f.Add("//.")
	f.Fuzz(func(t *testing.T, key string) {
		s := &Store{dir: "/base"}
		file := s.file(key)
		relative, err := filepath.Rel(s.dir, file)
		if err != nil || strings.HasPrefix(relative, "..") || strings.HasPrefix(filepath.Base(file), helperPrefix) {
			t.Fatalf("%q is kept in %s", key, file)
		}
		if back, ok := unescape(filepath.ToSlash(relative)); !ok || back != key {
			t.Fatalf("%q comes back as %q from %s", key, back, file)
		}
	})
}

// TestNamesSurviveIgnoredCase: file systems of Windows and macOS take two names that differ in case for one.
func TestNamesSurviveIgnoredCase(t *testing.T) {
	s := &Store{dir: "/base"}
	if a, b := s.file("state/app/orders.json"), s.file("state/App/Orders.json"); strings.EqualFold(a, b) {
		t.Errorf("%s and %s are one file there", a, b)
	}
}
