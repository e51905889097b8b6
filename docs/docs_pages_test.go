package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDecisions: each decision is in the index, says context, decision and consequences, and is one page. Tests that it
// names are there.
func TestDecisions(t *testing.T) {
	pages, err := filepath.Glob("decisions/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	tests := testNames(t)
	index := read(t, "decisions/README.md")
	for _, page := range pages {
		text := read(t, page)
		if filepath.Base(page) == "README.md" {
			continue
		}
		if !strings.Contains(index, "]("+filepath.Base(page)+")") {
			t.Errorf("%s is not in the index", page)
		}
		for _, part := range []string{"**Context.**", "**Decision.**", "**Consequences.**"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %s", page, part)
			}
		}
		if n := len(strings.Fields(text)); n > 300 {
			t.Errorf("%s has %d words", page, n)
		}
		for _, m := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1) {
			if !tests[m[1]] {
				t.Errorf("%s names %s, which no package has", page, m[1])
			}
		}
	}
}

// TestGlossary: the words stand in alphabetical order, each with one or two sentences, and pages of each kind lead
// there.
func TestGlossary(t *testing.T) {
	var words []string
	for _, part := range strings.Split(read(t, "glossary.md"), "\n### ")[1:] {
		word, text, _ := strings.Cut(part, "\n")
		words = append(words, strings.ToLower(word))
		if n := len(strings.Fields(text)); n < 4 || n > 50 {
			t.Errorf("%s: %d words", word, n)
		}
	}
	if len(words) < 40 || !slices.IsSorted(words) {
		t.Errorf("not in order, or too few: %q", words)
	}
	for _, page := range []string{"../README.md", "../CONTRIBUTING.md", "operations.md", "decisions/README.md"} {
		if !strings.Contains(read(t, page), "glossary.md") {
			t.Errorf("%s does not lead to the glossary", page)
		}
	}
}

// TestNoForeignDocuments: no page leads to a document that a reader does not have.
func TestNoForeignDocuments(t *testing.T) {
	foreign := regexp.MustCompile(`(?i)\bseeds? 0\d\d|\bseeds/|\bthe seeds?\b|\bseed (documents?|specification)|` +
		`\bDESIGN\.md|\bthe brief\b|\bfacts/`)
	for _, pattern := range append(ourPages, "../SECURITY.md", "../deploy/README.md") {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, page := range pages {
			if page == "simulation.md" { // there a seed is a number
				continue
			}
			for _, found := range foreign.FindAllString(read(t, page), -1) {
				t.Errorf("%s: %q", page, found)
			}
		}
	}
}

// TestStateMembers: state.md explains every member of the documents that the tests of package state pin.
func TestStateMembers(t *testing.T) {
	page := read(t, "state.md")
	members := map[string]bool{}
	for _, file := range []string{"../state/members_test.go", "../state/document_test.go"} {
		for _, m := range regexp.MustCompile("(?m)^ +\"([a-z_]+)\": ").FindAllStringSubmatch(read(t, file), -1) {
			members[m[1]] = true
		}
	}
	if len(members) < 30 {
		t.Fatalf("only %d members were found", len(members))
	}
	// Their members are explained, or are the source's own.
	for _, whole := range []string{"checkpoint", "lease", "late", "value", "tiebreaker"} {
		delete(members, whole)
	}
	for name := range members {
		if !regexp.MustCompile("`([a-z_]+\\.)*" + name + "(\\.[a-z_]+)?`").MatchString(page) {
			t.Errorf("state.md does not explain %s", name)
		}
	}
}

// ourPages are the pages of this folder, and those beside README that are about the same.
var ourPages = []string{"*.md", "decisions/*.md", "quickstarts/*.md", "../README.md", "../CONTRIBUTING.md"}

// TestPagesNameFiles: each file and folder of the repository that a page names is there.
func TestPagesNameFiles(t *testing.T) {
	named := 0
	path := regexp.MustCompile("`([a-z0-9]+/[A-Za-z0-9_./-]*)`")
	file := regexp.MustCompile(`\.(go|sh|txt|yaml)$`)
	for _, pattern := range ourPages {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, page := range pages {
			for _, m := range path.FindAllStringSubmatch(read(t, page), -1) {
				folder, _, _ := strings.Cut(m[1], "/")
				if _, err := os.Stat("../" + folder); err != nil && !file.MatchString(m[1]) {
					continue // a key in the state store, a media type
				}
				named++
				if _, err := os.Stat(filepath.FromSlash("../" + m[1])); err != nil && !strings.HasPrefix(m[1], "state/") {
					t.Errorf("%s names %s, which is not there", page, m[1])
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d files were found", named)
	}
}

// TestMakeTargets: what the Makefile calls a target has a rule. Make says of a phony one without that nothing is to be
// done, and a merge has lost rules so.
func TestMakeTargets(t *testing.T) {
	text := read(t, "../Makefile")
	phony := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindStringSubmatch(text)
	if phony == nil {
		t.Fatal("the Makefile has no .PHONY")
	}
	for _, name := range strings.Fields(phony[1]) {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `:[^=]`).MatchString(text) {
			t.Errorf("make %s has no rule", name)
		}
	}
}
