package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/manual"
)

// Set by the release build with -ldflags "-X main.version=v1.2.3 -X main.commit=…": an archive of the source, which is
// what a release is built from, has no version control to ask.
var (
	version = "dev"
	commit  = ""
)

// build says which program this is. It holds nothing that two builds of one commit by one Go version differ in: no time
// of the build, no machine, no directory.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // "" where it is not known
	Modified bool   `json:"modified"` // built from files that differ from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild is what the release build has said, else what the Go toolchain has written into the binary: the version of
// the module for go install …@v1.2.3, the commit for go build in a clone.
func thisBuild() build {
	b := build{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.complete(info)
	return b
}

// complete fills in what the release build has not said.
func (b *build) complete(info *debug.BuildInfo) {
	if v := info.Main.Version; b.Version == "dev" && v != "" && v != "(devel)" {
		b.Version = v
	}
	if b.Commit != "" {
		return
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

func (b build) String() string {
	text := "rowrelay " + b.Version
	switch {
	case b.Commit != "" && b.Modified:
		text += " (commit " + b.Commit + ", modified)"
	case b.Commit != "":
		text += " (commit " + b.Commit + ")"
	}
	return text + ", " + b.Go + ", " + b.Platform
}

func newVersion(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go version and platform",
		Long: `Version prints what this binary was built from: its version, the commit, the Go version and the platform. "dev" is a build that
is no release. Two builds of one release by one Go version print the same, and are the same bytes (SECURITY.md says ` +
			`how to check).`,
		Example: `  rowrelay version
  rowrelay version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if c.json {
				return json.NewEncoder(c.out).Encode(b)
			}
			_, err := fmt.Fprintln(c.out, b)
			return err
		},
	}
}

func newMan(c *console) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man --dir DIR",
		Short: "Write the manual pages, one for each command",
		Long: `Man writes rowrelay.1, rowrelay-run.1 and so on into a directory, from the texts of --help. A release has them in share/man/man1.
To read one without installing it: man -l DIR/rowrelay-run.1`,
		Example: `  rowrelay man --dir ~/.local/share/man/man1
  man rowrelay-run`,
		Hidden: true, // packagers call it; to a user the list of commands is for relaying rows
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("--dir: %w", err)
			}
			for _, page := range manual.Pages(cmd.Root(), manDate(c), "rowrelay "+thisBuild().Version) {
				if err := os.WriteFile(filepath.Join(dir, page.Name), []byte(page.Text), 0o644); err != nil {
					return fmt.Errorf("--dir: %w", err)
				}
				if _, err := fmt.Fprintln(c.out, filepath.Join(dir, page.Name)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory to write into; it is created where it is missing")
	_ = cmd.MarkFlagRequired("dir") // it fails only for a flag that does not exist
	return cmd
}

// manDate is the day of the release, as reproducible builds say it
// (https://reproducible-builds.org/specs/source-date-epoch/); "" for no release: the day on which a page was written
// says nothing about the program.
func manDate(c *console) string {
	seconds, err := strconv.ParseInt(c.env("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}
