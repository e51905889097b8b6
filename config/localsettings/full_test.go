//go:build unix

package localsettings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestAFullDisk: settings that cannot be written whole leave the file as it was.
func TestAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "local.settings.json")
	const before = `{"IsEncrypted":false,"Values":{"KEEP":"me"}}`
	testfile.Write(t, path, before)
	t.Run("full", func(t *testing.T) {
		testfile.Full(t)
		if err := Add(path, map[string]string{"DB": "sqlite:shop.db"}); err == nil {
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
