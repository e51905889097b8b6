package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/config/localsettings"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

func document(t *testing.T, name string) string {
	t.Helper()
	text := testfile.Read(t, filepath.Join("../..", name))
	return string(text)
}

// What README gives to be copied is a local.settings.json without a fault, and without anything of Azure.
func TestReadmeSettings(t *testing.T) {
	block := regexp.MustCompile("(?s)```json\n(\\{.*?)```").FindStringSubmatch(document(t, "README.md"))
	if block == nil {
		t.Fatal("there is no file")
	}
	path := filepath.Join(t.TempDir(), "local.settings.json")
	testfile.Write(t, path, block[1])
	environ, err := localsettings.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.State.Kind != "file" || strings.Contains(block[1], "AzureWebJobsStorage") {
		t.Errorf("it needs Azure:\n%s", block[1])
	}
}

// The forms of connection strings that the reference shows are read, and those to another machine are verified as they
// stand.
func TestReferenceConnectionStrings(t *testing.T) {
	seen := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^\| (SQLite|PostgreSQL|MySQL, MariaDB|SQL Server, Azure SQL) \| ([^|]*) \|`).
		FindAllStringSubmatch(document(t, "docs/settings.md"), -1) {
		for _, form := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			c, err := engines.Parse(form[1])
			if err != nil {
				t.Errorf("%s: %s: %v", row[1], form[1], err)
				continue
			}
			want := engine.LinkVerified
			if row[1] == "SQLite" {
				want = engine.LinkLocal
			}
			if c.Link != want || len(c.Warnings) > 0 {
				t.Errorf("%s: %s: %s, %q", row[1], form[1], c.Link, c.Warnings)
			}
			seen[c.Engine]++
		}
	}
	if len(seen) != 4 {
		t.Errorf("the engines %v", seen)
	}
}
