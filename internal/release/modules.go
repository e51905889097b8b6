package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// platforms are those of a release; scripts/release.sh builds the same (main_test.go compares).
var platforms = []string{"linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64", "darwin/amd64", "darwin/arm64"}

// module is one module whose packages are in the binary.
type module struct {
	path, version string
	sum           string // of go.sum, "h1:…"; "" of the standard library
	licences      []string
	texts         []licenceText
}

// licenceText is one file that has to go with the binary.
type licenceText struct {
	name, text string
}

// standard stands for the standard library and the runtime.
const standard = "Go standard library and runtime"

// licenceFile tells the names under which licences, and what they ask to be passed on, are found.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|copyright|notice|patents|unlicense|third.?party.*)([-.].*)?$`)

// listModules returns the modules of cmd/rowrelay on the platforms, with what licenses them. A package may have a
// licence of its own: each directory from a package's to its module's is looked into.
func listModules(ctx context.Context, root string, platforms []string) ([]module, error) {
	found := map[string]module{}
	files := map[string]map[string]bool{} // by module, the files that were found
	for _, platform := range platforms {
		packages, err := listPackages(ctx, root, platform)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			m, dir := p.Module, ""
			switch {
			case p.Standard:
				m = &goModule{Path: standard}
			case m == nil || m.Main:
				continue
			case m.Replace != nil:
				return nil, fmt.Errorf("%s is replaced in go.mod: a release is made of published modules", m.Path)
			default:
				dir = m.Dir
			}
			if files[m.Path] == nil {
				found[m.Path], files[m.Path] = module{path: m.Path, version: m.Version, sum: m.Sum}, map[string]bool{}
			}
			if err := findLicences(files[m.Path], p.Dir, dir); err != nil {
				return nil, err
			}
		}
	}
	goroot, err := output(ctx, root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	files[standard] = map[string]bool{filepath.Join(strings.TrimSpace(string(goroot)), "LICENSE"): true}
	var modules []module
	for _, path := range slices.Sorted(maps.Keys(found)) {
		m := found[path]
		for _, file := range slices.Sorted(maps.Keys(files[path])) {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			m.texts = append(m.texts, licenceText{filepath.Base(file),
				string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))})
		}
		m.licences = licencesOf(m.texts)
		modules = append(modules, m)
	}
	return modules, nil
}

// goModule and goPackage are what go list says.
type goModule struct {
	Path, Version, Dir, Sum string
	Main                    bool
	Replace                 *goModule
}

type goPackage struct {
	Dir      string
	Standard bool
	Module   *goModule
}

func listPackages(ctx context.Context, root, platform string) (packages []goPackage, err error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("-platform %q is not GOOS/GOARCH", platform)
	}
	// GOFLAGS and GOWORK of the caller are not the product's.
	list, err := output(ctx, root,
		[]string{"GOOS=" + goos, "GOARCH=" + goarch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -buildvcs=false", "GOWORK=off"},
		"go", "list", "-deps", "-json=Dir,Standard,Module", "./cmd/rowrelay")
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(list))
	for {
		var p goPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("reading what go list says: %w", err)
		}
		packages = append(packages, p)
	}
}

func output(ctx context.Context, dir string, environ []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), environ...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, nil
}

// findLicences adds the licence files of a package's directory and of those above it, up to its module's. Of the
// standard library root is "": its one file is known.
func findLicences(files map[string]bool, dir, root string) error {
	for root != "" {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && licenceFile.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
				files[filepath.Join(dir, e.Name())] = true
			}
		}
		if dir == root || !strings.HasPrefix(dir, root) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
	return nil
}

// covered is how much of a file has to be known text for it to be called a licence; pkg.go.dev asks for the same.
const covered = 75

// licencesOf names the licences of the texts. A file that is none, such as a NOTICE, adds nothing.
func licencesOf(texts []licenceText) []string {
	ids := map[string]bool{}
	for _, t := range texts {
		coverage := licensecheck.Scan([]byte(t.text))
		if coverage.Percent < covered {
			continue
		}
		for _, match := range coverage.Match {
			if !match.IsURL {
				ids[match.ID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
