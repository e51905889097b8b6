package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestTheCloneSampleRunsAsItIs: what lies in the clone delivers its rows without anything else, and is not changed by
// that.
func TestTheCloneSampleRunsAsItIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "orders"), 0o700); err != nil {
		t.Fatal(err)
	}
	const database = "orders/sample.db"
	before := map[string][]byte{}
	for _, name := range []string{"host.json", "local.settings.json", "orders/function.json", database} {
		data := testfile.Read(t, filepath.Join("..", name))
		before[name] = data
		testfile.Write(t, filepath.Join(root, name), data)
	}
	// UseDevelopmentStorage=true is Azurite at its usual ports; here it has others.
	out := stdout(t, root, settings{"AzureWebJobsStorage": testenv.Azurite(t),
		"state__app_name": fmt.Sprintf("sample-%d", time.Now().UnixNano())}, "run", "--once")
	for _, row := range []string{`"item":"tea"`, `"item":"bread"`, `"item":"apples"`} {
		if strings.Count(out, row) != 1 {
			t.Errorf("%s is not there once:\n%s", row, out)
		}
	}
	files, err := os.ReadDir(filepath.Join(root, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(root, database))
	if err != nil || len(files) != 2 || !bytes.Equal(after, before[database]) {
		t.Errorf("the sample was changed: %v %v", err, files)
	}
}
