package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/manual"
)

// Every command says what it is, and those that a user types say how. It holds for commands that do not exist yet.
func TestEveryCommandExplainsItself(t *testing.T) {
	root := newRoot(&console{})
	for _, cmd := range commandline.EveryCommand(root) {
		path := cmd.CommandPath()
		switch {
		case cmd.Short == "":
			t.Errorf("%s has no Short", path)
		case strings.HasSuffix(cmd.Short, "."), strings.ToUpper(cmd.Short[:1]) != cmd.Short[:1]:
			t.Errorf("%s: Short %q is not a line that begins with a capital and ends without a full stop", path, cmd.Short)
		case len(cmd.Short) > 90:
			t.Errorf("%s: Short is %d letters long: it has to fit on a line of the list of commands", path, len(cmd.Short))
		}
		if cmd.HasSubCommands() && cmd.Long == "" {
			t.Errorf("%s has commands below it and no Long", path)
		}
		for line := range strings.Lines(cmd.Example) {
			if words := strings.Fields(line); len(words) > 0 && strings.HasPrefix(line, "  rowrelay") {
				assertExample(t, root, path, words)
			}
		}
		for line := range strings.Lines(cmd.Long) {
			if len([]rune(strings.TrimSpace(line))) > 140 {
				t.Errorf("%s: a line of Long has more than 140 letters: %.60s…", path, line)
			}
		}
	}
}

// assertExample checks that an example names a command, and flags, that exist.
func assertExample(t *testing.T, root *cobra.Command, path string, words []string) {
	t.Helper()
	var args []string
	for _, w := range words[1:] {
		if w == "|" || w == ">" {
			break
		}
		args = append(args, w)
	}
	cmd, rest, err := root.Find(args)
	if err != nil {
		t.Errorf("%s: its example %q: %v", path, strings.Join(words, " "), err)
		return
	}
	for _, w := range rest {
		name, isFlag := strings.CutPrefix(w, "--")
		if name, _, _ = strings.Cut(name, "="); isFlag && cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			t.Errorf("%s: its example %q: %s has no flag --%s", path, strings.Join(words, " "), cmd.CommandPath(), name)
		}
	}
}

// pages writes the manual pages as a packager does.
func pages(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "man", "man1")
	var out, errs bytes.Buffer
	if err := execute(context.Background(), []string{"man", "--dir", dir}, []string{"SOURCE_DATE_EPOCH=1767225600"},
		nil, &out, &errs); err != nil {
		t.Fatal(err, errs.String())
	}
	return dir
}

func TestManPages(t *testing.T) {
	dir := pages(t)
	for _, cmd := range commandline.EveryCommand(newRoot(&console{})) {
		text, err := os.ReadFile(filepath.Join(dir, manual.Name(cmd)+".1"))
		if cmd.Hidden || cmd.Name() == "help" {
			if err == nil {
				t.Errorf("%s has a page", cmd.CommandPath())
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range []string{".TH ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %s", cmd.CommandPath(), want)
			}
		}
	}
	text := testfile.Read(t, filepath.Join(dir, "rowrelay.1"))
	if !strings.Contains(string(text), `"2026-01-01"`) {
		t.Errorf("rowrelay.1 does not have the day of SOURCE_DATE_EPOCH: %.80s", text)
	}
	for line := range strings.Lines(disclosure) {
		if !strings.Contains(string(text), strings.ReplaceAll(strings.TrimSpace(line), "-", `\-`)) {
			t.Errorf("rowrelay.1 does not say %q", line)
		}
	}
}

// The pages are right by the formatter's own judgement, and what is read is what --help says.
func TestManPagesAsTheyAreRead(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Fatal("groff is missing: scripts/services.sh start installs it (groff-base)")
	}
	dir := pages(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	for _, file := range files {
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-P-cbou", "-ww", "-rLL=200n", file)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v\n%s", filepath.Base(file), err, errs.String())
		}
		if filepath.Base(file) == "rowrelay-state-reset.1" {
			for _, want := range []string{"rowrelay state reset orders --to cursor=2026-04-07T01:23:45Z --ties before",
				"rowrelay state reset <poller> --to", "checkpoint_advanced_manually"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the page does not read %q:\n%s", want, out.String())
				}
			}
		}
	}
}

func TestManNeedsADirectory(t *testing.T) {
	err := execute(context.Background(), []string{"man"}, nil, nil, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "dir") {
		t.Errorf("%v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	testfile.Write(t, file, "")
	if err := execute(context.Background(), []string{"man", "--dir", file}, nil, nil, io.Discard,
		io.Discard); err == nil || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("%v", err)
	}
}
