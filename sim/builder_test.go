package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// once reports an error where the text is not there exactly once.
func (h hunk) once(file string, data []byte) error {
	if n := bytes.Count(data, []byte(h.old)); n != 1 {
		return fmt.Errorf("%s: the text to be replaced is there %d times, not once:\n%s", file, n, h.old)
	}
	return nil
}

// patch replaces texts of a file, each of which must be there exactly once, and adds tail to its end.
func (b *builder) patch(file string, hunks []hunk, tail string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, h := range hunks {
		if err := h.once(file, data); err != nil {
			return err
		}
		data = bytes.Replace(data, []byte(h.old), []byte(h.new), 1)
	}
	return b.write(file, append(data, tail...))
}

// write makes data the content of a file of what is built.
func (b *builder) write(file string, data []byte) error {
	name := filepath.Join(b.dir, fmt.Sprintf("%d_%s", len(b.replace), filepath.Base(file)))
	b.replace[file] = name
	return os.WriteFile(name, data, 0o600)
}

// clone returns a builder that writes to another directory.
func (b *builder) clone(dir string) *builder {
	return &builder{root: b.root, dir: dir, replace: maps.Clone(b.replace)}
}

// build builds the test binaries of packages of the module.
func (b *builder) build(ctx context.Context, pkgs ...string) error {
	overlay, err := json.Marshal(map[string]any{"Replace": b.replace})
	if err != nil {
		return err
	}
	name := filepath.Join(b.dir, "overlay.json")
	if err := os.WriteFile(name, overlay, 0o600); err != nil {
		return err
	}
	// With the flags of what is shipped: what no bug is in comes from the build cache. -w: linking is half of the time.
	args := append([]string{"test", "-c", "-trimpath", "-ldflags=-w", "-o", b.dir + "/", "-overlay", name}, pkgs...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = b.root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkgs, err, out)
	}
	return nil
}

// program is a test binary.
type program struct {
	binary string
	bug    string // what is switched on of what is in it
}

// program returns the test binary of a package that was built, with a bug switched on, or none.
func (b *builder) program(pkg, bug string) program {
	return program{filepath.Join(b.dir, filepath.Base(pkg)+".test"), bug}
}

// run is the command that runs tests of it.
func (p program) run(ctx context.Context, dir, tests string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.binary, "-test.run", tests, "-test.timeout", "10h")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "SIM_BUG="+p.bug)
	return cmd
}

// worker runs seeds in a process of its own. A process that ends in a panic is a violation too.
func worker(ctx context.Context, p program, dir, dims string, first, count, violations int) (result, error) {
	name := filepath.Join(dir, fmt.Sprintf("result_%d.json", first))
	cmd := p.run(ctx, dir, "^TestSeeds$")
	cmd.Env = append(cmd.Env, "GOMAXPROCS=1", "SIM_RESULT="+name, fmt.Sprintf("SIM_FIRST=%d", first),
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
func workers(ctx context.Context, p program, dir string, first, count, processes, violations int) (result, error) {
	var wg sync.WaitGroup
	results, errs := make([]result, processes), make([]error, processes)
	each := (count + processes - 1) / processes
	for i := range processes {
		n := min(each, count-i*each)
		if n <= 0 {
			break
		}
		wg.Go(func() { results[i], errs[i] = worker(ctx, p, dir, "", first+i*each, n, violations) })
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
