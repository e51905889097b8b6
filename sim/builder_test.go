package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// builder builds test binaries of this package with some source files replaced (go test -overlay): the product needs no
// hooks, for seeded randomness or for seeded bugs.
type builder struct {
	root    string // of the module
	dir     string // for what it writes
	replace map[string]string
}

// newBuilder returns a builder whose binaries draw every random number from the seed.
func newBuilder(t *testing.T) *builder {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{root: root, dir: t.TempDir(), replace: map[string]string{}}
	b.random(t)
	return b
}

// hook seeds math/rand/v2 in the runner's build.
const hook = `package sim

import (
	"math/rand/v2"
	"sync"
)

func init() {
	seeded = true
	seedRuntime = func(seed uint64) {
		var mu sync.Mutex
		source := rand.NewPCG(seed, 0x1177e5)
		rand.Simulated = func() uint64 {
			mu.Lock()
			defer mu.Unlock()
			return source.Uint64()
		}
	}
}
`

// random makes math/rand/v2's global functions draw from the seed: the pauses between retries are varied by them, and
// no option of theirs can seed them.
func (b *builder) random(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(strings.TrimSpace(string(out)), "src", "math", "rand", "v2", "rand.go")
	if err := b.patch(file, []hunk{{"\treturn runtime_rand()\n",
		"\tif Simulated != nil {\n\t\treturn Simulated()\n\t}\n\treturn runtime_rand()\n"}},
		"\n// Simulated is the simulation's source.\nvar Simulated func() uint64\n"); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(b.dir, "seeded_test.go")
	if err := os.WriteFile(name, []byte(hook), 0o600); err != nil {
		t.Fatal(err)
	}
	b.replace[filepath.Join(b.root, "sim", "seeded_test.go")] = name
}

// hunk is a text to be replaced by another.
type hunk struct{ old, new string }

// patch replaces texts of a file, each of which must be there exactly once, and adds tail to its end.
func (b *builder) patch(file string, hunks []hunk, tail string) error {
	source := file
	if done, ok := b.replace[file]; ok {
		source = done
	}
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	for _, h := range hunks {
		if n := bytes.Count(data, []byte(h.old)); n != 1 {
			return fmt.Errorf("%s: the text to be replaced is there %d times, not once:\n%s", file, n, h.old)
		}
		data = bytes.Replace(data, []byte(h.old), []byte(h.new), 1)
	}
	data = append(data, tail...)
	name := filepath.Join(b.dir, fmt.Sprintf("%d_%s", len(b.replace), filepath.Base(file)))
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return err
	}
	b.replace[file] = name
	return nil
}

// build builds the test binary of a package of the module.
func (b *builder) build(ctx context.Context, pkg string) (string, error) {
	overlay, err := json.Marshal(map[string]any{"Replace": b.replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(b.dir, "overlay.json")
	if err := os.WriteFile(name, overlay, 0o600); err != nil {
		return "", err
	}
	binary := filepath.Join(b.dir, "simulation.test")
	// With the flags of what is shipped: what no bug is in comes from the build cache.
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-o", binary, "-overlay", name, pkg)
	cmd.Dir, cmd.Env = b.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// worker runs seeds in a process of its own. A process that ends in a panic is a violation too.
func worker(ctx context.Context, binary, dir, dims string, first, count, violations int) (result, error) {
	name := filepath.Join(dir, fmt.Sprintf("result_%d.json", first))
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^TestSeeds$", "-test.timeout", "10h")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "SIM_RESULT="+name, fmt.Sprintf("SIM_FIRST=%d", first),
		fmt.Sprintf("SIM_COUNT=%d", count), fmt.Sprintf("SIM_VIOLATIONS=%d", violations))
	if dims != "" {
		cmd.Env = append(cmd.Env, "DIMS="+dims)
	}
	out, err := cmd.CombinedOutput()
	var r result
	data, readErr := os.ReadFile(name)
	if readErr == nil {
		return r, json.Unmarshal(data, &r)
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && !exit.Exited() {
		return r, fmt.Errorf("a worker was ended: %w", err)
	}
	at, seedErr := os.ReadFile(name + ".seed")
	at = bytes.TrimLeft(at, "0")
	if err == nil || seedErr != nil {
		return r, fmt.Errorf("a worker told nothing: %w\n%s", readErr, out)
	}
	v := violation{Text: "the process ended: " + err.Error(), Trace: strings.Split(string(out), "\n")}
	if _, err := fmt.Sscan(string(at), &v.Seed); err != nil {
		return r, err
	}
	r.Violations = []violation{v}
	r.Tally.Seeds = int(v.Seed) - first + 1
	return r, nil
}

// workers runs seeds in several processes.
func workers(ctx context.Context, binary, dir string, first, count, processes, violations int) (result, error) {
	var wg sync.WaitGroup
	results, errs := make([]result, processes), make([]error, processes)
	each := (count + processes - 1) / processes
	for i := range processes {
		n := min(each, count-i*each)
		if n <= 0 {
			break
		}
		wg.Go(func() { results[i], errs[i] = worker(ctx, binary, dir, "", first+i*each, n, violations) })
	}
	wg.Wait()
	var all result
	for i, r := range results {
		if errs[i] != nil {
			return all, errs[i]
		}
		all.Tally.add(r.Tally)
		all.Violations = append(all.Violations, r.Violations...)
		all.Trace = append(all.Trace, r.Trace...)
	}
	return all, nil
}
