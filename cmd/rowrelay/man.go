package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The manual pages are made of the same texts as --help. cobra's own generator takes those for Markdown, and garbles what is
// plain text: <poller> is dropped as HTML, and of pollers__orders__source__table and */10 * * * * * the marks become bold.

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
			for _, page := range manPages(cmd.Root(), manDate(c)) {
				if err := os.WriteFile(filepath.Join(dir, page.name), []byte(page.text), 0o644); err != nil {
					return fmt.Errorf("--dir: %w", err)
				}
				if _, err := fmt.Fprintln(c.out, filepath.Join(dir, page.name)); err != nil {
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

type manPage struct{ name, text string }

// manDate is the day of the release, as reproducible builds say it (https://reproducible-builds.org/specs/source-date-epoch/);
// "" for no release: the day on which a page was written says nothing about the program.
func manDate(c *console) string {
	seconds, err := strconv.ParseInt(c.env("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}

// manPages are the pages of all commands that --help lists.
func manPages(root *cobra.Command, date string) []manPage {
	root.InitDefaultCompletionCmd()
	var pages []manPage
	for _, cmd := range everyCommand(root) {
		if cmd != root && !cmd.IsAvailableCommand() {
			continue
		}
		cmd.InitDefaultHelpFlag()
		pages = append(pages, manPage{manName(cmd) + ".1", manText(cmd, date)})
	}
	return pages
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manText is one page in the man macros.
func manText(cmd *cobra.Command, date string) string {
	var b strings.Builder
	name := manName(cmd)
	fmt.Fprintf(&b, ".TH %q 1 %q %q \"Rowrelay\"\n.nh\n.ad l\n", strings.ToUpper(name), date, "rowrelay "+thisBuild().Version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	manParagraphs(&b, long)
	manFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		manVerbatim(&b, strings.Split(strings.Trim(cmd.Example, "\n"), "\n"))
	}
	manSeeAlso(&b, cmd)
	return b.String()
}

// manParagraphs sets running text as paragraphs, and lines that begin with spaces as they stand: they are lists and commands.
func manParagraphs(b *strings.Builder, text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
		for len(lines) > 0 {
			n := 0
			for n < len(lines) && indented(lines[n]) == indented(lines[0]) {
				n++
			}
			if indented(lines[0]) {
				manVerbatim(b, lines[:n])
			} else {
				for _, line := range lines[:n] {
					b.WriteString(roff(strings.TrimSpace(line)) + "\n")
				}
			}
			lines = lines[n:]
		}
	}
}

func indented(line string) bool { return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") }

func manVerbatim(b *strings.Builder, lines []string) {
	b.WriteString(".RS 2\n.nf\n")
	for _, line := range lines {
		line = strings.TrimPrefix(strings.ReplaceAll(strings.TrimRight(line, " \t"), "\t", "    "), "  ")
		if line == "" {
			b.WriteString(".sp\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	b.WriteString(".fi\n.RE\n")
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		term := "--" + f.Name
		if f.Shorthand != "" {
			term = "-" + f.Shorthand + ", " + term
		}
		if kind != "" {
			term += " " + kind
		}
		switch f.DefValue {
		case "", "0", "0s", "false", "[]":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(term), roff(usage))
	})
}

// manSeeAlso names the pages above and below a command.
func manSeeAlso(b *strings.Builder, cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, manName(cmd.Parent()))
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, manName(child))
		}
	}
	if len(names) == 0 {
		return
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roff(name), end)
	}
}

// roff escapes a line of plain text: a backslash, hyphens and quotes, which would become typographic ones that no shell
// understands, whatever is not ASCII, and a dot at the beginning, which would be a request.
func roff(line string) string {
	var b strings.Builder
	if strings.HasPrefix(line, ".") {
		b.WriteString(`\&`)
	}
	for _, r := range line {
		switch escaped, special := roffEscapes[r]; {
		case special:
			b.WriteString(escaped)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var roffEscapes = map[rune]string{'\\': `\e`, '-': `\-`, '^': `\(ha`, '~': `\(ti`, '`': `\(ga`, '\'': `\(aq`, '"': `\(dq`}
