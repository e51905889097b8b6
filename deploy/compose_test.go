package deploy_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// composeLoader is the library that docker compose itself reads these files with. It is run, not imported: nothing else
// needs it.
const composeLoader = "github.com/compose-spec/compose-go/v2/cmd@v2.9.0"

// composed is what the loader makes of a file: schema, references between services, variables.
type composed struct {
	Services map[string]struct {
		Image       string
		Build       *struct{ Context, Dockerfile string }
		Environment map[string]string
		Volumes     []struct{ Source, Target string }
		Ports       []struct {
			HostIP string `json:"host_ip"`
		}
	}
}

func compose(t *testing.T, path string) (c composed) {
	t.Helper()
	text := testfile.Read(t, path)
	// The loader's command knows no variables of the environment.
	filled := regexp.MustCompile(`\$\{ROWRELAY_(DB_PASSWORD|STATUS_TOKEN):\?[^}]*\}`).ReplaceAllString(string(text),
		"Planted-in-the-test-1")
	dir := filepath.Join(t.TempDir(), "deploy")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, filepath.Base(path))
	testfile.Write(t, copied, filled)
	out, err := goRun("", nil, composeLoader, "-format", "json", copied).Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, stderrOf(err))
	}
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
	return c
}

func TestComposeFilesAreValid(t *testing.T) {
	t.Parallel()
	for _, path := range glob(t, "compose*.yaml", 2) {
		for name, s := range compose(t, path).Services {
			for _, p := range s.Ports {
				if p.HostIP != "127.0.0.1" {
					t.Errorf("%s: %s listens on %q, not on this machine only", path, name, p.HostIP)
				}
			}
			if s.Build == nil && !strings.Contains(s.Image, ":") {
				t.Errorf("%s: %s names no tag of %s", path, name, s.Image)
			}
		}
	}
}

func TestComposeOfTheLaptopFitsTheRepository(t *testing.T) {
	t.Parallel()
	c := compose(t, "compose.laptop.yaml")
	for name, s := range c.Services {
		for _, v := range s.Volumes { // the copy lies in another deploy/
			if _, err := os.Stat(filepath.Base(v.Source)); err != nil {
				t.Errorf("%s mounts what is not there: %v", name, err)
			}
		}
	}
	app := c.Services["rowrelay"]
	if app.Build == nil || app.Build.Dockerfile != "deploy/Dockerfile.run" {
		t.Errorf("rowrelay is built from %+v", app.Build)
	}
	cfg := accepted(t, app.Environment)
	url := cfg.Poller("orders").Outputs[0].URL
	if !strings.HasPrefix(url.Reveal(), "http://receiver:8080/") {
		t.Errorf("rows go to %s, and not to the receiver", url)
	}
}

func TestReceiverOfTheLaptopPrintsWhatArrives(t *testing.T) {
	cmd := exec.Command(checker(t, "python"), "-u", "laptop/receiver.py", "0", "127.0.0.1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("the receiver did not start")
	}
	port := lines.Text()[strings.LastIndex(lines.Text(), " ")+1:]
	answer, err := http.Post("http://127.0.0.1:"+port+"/orders", "application/json",
		strings.NewReader(`{"type":"rowrelay.row.upsert"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		t.Errorf("it answers %s", answer.Status)
	}
	if !lines.Scan() || lines.Text() != `/orders {"type":"rowrelay.row.upsert"}` {
		t.Errorf("it printed %q", lines.Text())
	}
}
