//go:build unix

package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestAFullDisk: no half of a file is left, which the next run would leave alone. What is there stays.
func TestAFullDisk(t *testing.T) {
	app, kept := host.App{Root: t.TempDir()}, &host.Function{Name: "kept", Content: []byte(`{"before":true}`)}
	if _, _, err := app.WriteFunction(kept, false); err != nil {
		t.Fatal(err)
	}
	t.Run("full", func(t *testing.T) {
		testfile.Full(t)
		if _, written, err := app.WriteFile(false); err == nil || written {
			t.Error("host.json was written")
		}
		if _, written, err := app.WriteFunction(&host.Function{Name: "kept", Content: []byte(`{"a":1}`)}, true); err == nil ||
			written {
			t.Error("function.json was written")
		}
	})
	if text := string(testfile.Read(t, filepath.Join(app.Root, "kept", "function.json"))); text != string(kept.Content) {
		t.Errorf("function.json holds %q", text)
	}
	if left, err := os.ReadDir(app.Root); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
	if _, written, err := app.WriteFile(false); err != nil || !written {
		t.Error("host.json is not written when there is room again:", err)
	}
}
