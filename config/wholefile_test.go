//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestAFullDisk: settings that cannot be written whole leave the file as it was.
func TestAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "local.settings.json")
	const before = `{"IsEncrypted":false,"Values":{"KEEP":"me"}}`
	testfile.Write(t, path, before)
	t.Run("full", func(t *testing.T) {
		testfile.Full(t)
		if err := config.AddLocalSettings(path, map[string]string{"DB": "sqlite:shop.db"}); err == nil {
			t.Error("it was written")
		}
	})
	if text := string(testfile.Read(t, path)); text != before {
		t.Errorf("it holds %q", text)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}

// TestWriteWhole: a file keeps its mode and its place behind a link; a new one has the mode that is asked for.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	testfile.Write(t, target, "before")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := config.WriteWhole(link, []byte("after"), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(target)
	if text := string(testfile.Read(t, target)); err != nil || text != "after" || info.Mode() != 0o600 {
		t.Error(text, info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error(info.Mode(), err)
	}
	if err := config.WriteWhole(filepath.Join(dir, "new"), nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "new")); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info.Mode(), err)
	}
}
