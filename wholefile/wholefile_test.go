//go:build unix

package wholefile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestWrite: a file keeps its mode and its place behind a link; a new one has the mode that is asked for.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	testfile.Write(t, target, "before")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("after"), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(target)
	if text := string(testfile.Read(t, target)); err != nil || text != "after" || info.Mode() != 0o600 {
		t.Error(text, info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error(info.Mode(), err)
	}
	if err := Write(filepath.Join(dir, "new"), nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "new")); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info.Mode(), err)
	}
}
