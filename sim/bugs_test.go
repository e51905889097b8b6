package sim

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// bug is a fault that is put into the product, to see that the simulation finds it: a file of bugs/, whose head says
// what it is and how it is looked for, followed by texts of source files and what replaces them.
//
//	What is wrong, and what it leads to.
//	within: 3000
//	with: limits
//	seed: 17
//	--- state/owner.go
//	the text as it stands, which must be there exactly once
//	+++
//	the text instead
type bug struct {
	name, what string
	within     int    // seeds
	seed       int    // that found it last, which the short form tries first; 0 for a bug of another package
	dims       string // dimensions of the runs, where those that are enabled are not enough (DIMS)
	// pkg is ./sim, or with run names another package's test that has to find it, where the simulation's own table does
	// not reach.
	pkg, run string
	files    []string
	hunks    map[string][]hunk
}

func readBug(file string) (*bug, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	b := &bug{
		name: strings.TrimSuffix(filepath.Base(file), ".txt"), within: shortBound, pkg: "./sim", hunks: map[string][]hunk{},
	}
	head, rest, _ := strings.Cut(string(data), "\n--- ")
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "within":
			if b.within, err = strconv.Atoi(value); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		case "seed":
			if b.seed, err = strconv.Atoi(value); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		case "with":
			b.dims = value
		case "package":
			b.pkg = value
		case "run":
			b.run = value
		default:
			b.what += strings.TrimSpace(line) + " "
		}
	}
	b.what = strings.TrimSpace(b.what)
	for part := range strings.SplitSeq(rest, "\n--- ") {
		name, texts, ok := strings.Cut(part, "\n")
		old, instead, ok2 := strings.Cut("\n"+texts+"\n", "\n+++\n")
		if !ok || !ok2 {
			return nil, fmt.Errorf("%s: a part has no +++", file)
		}
		if b.hunks[name] == nil {
			b.files = append(b.files, name)
		}
		b.hunks[name] = append(b.hunks[name], hunk{strings.TrimPrefix(old, "\n"), strings.TrimRight(instead, "\n")})
	}
	return b, nil
}

// shortBound is the bound of a bug that names none. The search for one with a higher bound is left to make sim-bugs.
const shortBound = 5000

// update writes the seeds that found the bugs into their files. The short form takes as long as before it when the
// product's change has moved them.
var update = flag.Bool("update", false, "write the seeds that find the bugs into bugs/")

// TestSeededBugs puts each bug of bugs/ into the product and runs seeds until one breaks a promise: in make sim-bugs
// from the first one on, otherwise beginning with the one that found it last. A bug that is not found within its bound
// fails the test, and so does one whose text is not there any more.
func TestSeededBugs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("bugs", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d bugs, %v", len(files), err)
	}
	only := os.Getenv("BUG") // a name, or "all"
	var bugs []*bug
	pkgs := []string{"./sim"}
	for _, file := range files {
		b, err := readBug(file)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case only != "" && only != "all" && only != b.name:
			continue
		case only != "": // whole: its bound is what is to be shown
			b.seed = 0
		}
		if bugs = append(bugs, b); !slices.Contains(pkgs, b.pkg) {
			pkgs = append(pkgs, b.pkg)
		}
	}
	base := newBuilder(t)
	together := base.clone(t.TempDir())
	alone, err := together.put(bugs)
	if err != nil {
		t.Fatal(err)
	}
	if err := together.build(t.Context(), pkgs...); err != nil {
		t.Fatal(err)
	}
	clean := together.program("./sim", "")
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.NumCPU())
	for _, b := range bugs {
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			with, dir := together.program(b.pkg, b.name), t.TempDir()
			var err error
			if slices.Contains(alone, b) {
				with, err = b.alone(t.Context(), base.clone(dir))
			}
			var text string
			if err == nil {
				text, err = b.find(t.Context(), clean, with, dir)
			}
			if err != nil {
				t.Errorf("%-28s NOT FOUND: %v", b.name, err)
				return
			}
			t.Logf("%-28s %s", b.name, text)
		})
	}
	wg.Wait()
}

// alone builds a program with nothing but the bug.
func (b *bug) alone(ctx context.Context, with *builder) (program, error) {
	for _, file := range b.files {
		if err := with.patch(filepath.Join(with.root, file), b.hunks[file], ""); err != nil {
			return program{}, err
		}
	}
	return with.program(b.pkg, ""), with.build(ctx, b.pkg)
}

// find looks for the bug in the program with it; clean is one without it. It says how it was found.
func (b *bug) find(ctx context.Context, clean, with program, dir string) (string, error) {
	if b.run != "" {
		return b.elsewhere(ctx, with)
	}
	begin := number("SEED", 1)
	v, found, err := b.search(ctx, with, dir, b.seed, min(b.seed, 1))
	if !found && err == nil {
		if os.Getenv("BUG") == "" && !*update && b.within > shortBound {
			return fmt.Sprintf("is left to make sim-bugs: it may take %d seeds", b.within), nil
		}
		v, found, err = b.search(ctx, with, dir, begin, b.within)
	}
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", fmt.Errorf("not found in %d seeds: %s", b.within, b.what)
	}
	same, err := worker(ctx, clean, dir, b.dims, int(v.Seed), 1, 1)
	switch {
	case err != nil:
		return "", err
	case len(same.Violations) > 0 && !differs(&same.Violations[0]):
		return "", fmt.Errorf("seed %d is broken without the bug too: %s", v.Seed, same.Violations[0].Text)
	}
	if os.Getenv("BUG") == b.name {
		fmt.Println(v.String())
	}
	if err := b.keep(int(v.Seed)); err != nil {
		return "", err
	}
	text, _, _ := strings.Cut(v.Text, "\n")
	if int(v.Seed) == b.seed {
		return fmt.Sprintf("by seed %d as last time: %s", b.seed, text), nil
	}
	return fmt.Sprintf("after %4d seeds: %s", int(v.Seed)-begin+1, text), nil
}

// search runs seeds until one breaks a promise.
func (b *bug) search(
	ctx context.Context, with program, dir string, first, count int,
) (v violation, found bool, err error) {
	for end := first + count; first < end; first = int(v.Seed) + 1 {
		r, err := worker(ctx, with, dir, b.dims, first, end-first, 1)
		if err != nil || len(r.Violations) == 0 {
			return v, false, err
		}
		if v = r.Violations[0]; !differs(&v) {
			return v, true, nil
		}
	}
	return v, false, nil
}

// keep writes the seed into the bug's file, where that is asked for.
func (b *bug) keep(seed int) error {
	if !*update || seed == b.seed {
		return nil
	}
	file := filepath.Join("bugs", b.name+".txt")
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, _ := bytes.Cut(data, []byte("\n--- "))
	head, _, _ = bytes.Cut(head, []byte("\nseed: "))
	return os.WriteFile(file, fmt.Appendf(nil, "%s\nseed: %d\n--- %s", head, seed, rest), 0o600)
}

// differs reports whether a seed was only not the same twice: that says nothing about a bug.
func differs(v *violation) bool { return strings.HasPrefix(v.Text, notTheSame) }

// elsewhere runs another package's test, which has to fail.
func (b *bug) elsewhere(ctx context.Context, with program) (string, error) {
	dir, err := filepath.Abs(filepath.Join("..", b.pkg))
	if err != nil {
		return "", err
	}
	cmd := with.run(ctx, dir, b.run)
	cmd.Args = append(cmd.Args, "-test.failfast") // the first of its cases that fails has found the bug
	out, err := cmd.CombinedOutput()
	if err == nil {
		return "", fmt.Errorf("%s of %s does not find it: %s", b.run, b.pkg, b.what)
	}
	for line := range bytes.Lines(out) {
		if text := string(bytes.TrimSpace(line)); strings.Contains(text, "_test.go:") {
			return fmt.Sprintf("by %s %s: %s", b.pkg, b.run, text), nil
		}
	}
	return "", fmt.Errorf("%s of %s failed in another way:\n%s", b.run, b.pkg, out)
}
