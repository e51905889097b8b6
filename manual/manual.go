// Package manual writes manual pages in the man macros, made of the same texts as --help. cobra's own generator takes
// those for Markdown, and garbles what is plain text: <poller> is dropped as HTML, and of
// pollers__orders__source__table and */10 * * * * * the marks become bold.
package manual

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is one manual page.
type Page struct{ Name, Text string }

// Pages are the pages of a command and all those below it that --help lists. date is the day of the release, "" for
// none; version names the program.
func Pages(root *cobra.Command, date, version string) []Page {
	root.InitDefaultCompletionCmd()
	return pages(nil, root, date, version)
}

func pages(list []Page, cmd *cobra.Command, date, version string) []Page {
	if !cmd.HasParent() || cmd.IsAvailableCommand() {
		cmd.InitDefaultHelpFlag()
		list = append(list, Page{Name(cmd) + ".1", text(cmd, date, version)})
	}
	for _, below := range cmd.Commands() {
		list = pages(list, below, date, version)
	}
	return list
}

// Name is that of a command's page, without its section.
func Name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// text is one page in the man macros.
func text(cmd *cobra.Command, date, version string) string {
	var b strings.Builder
	name := Name(cmd)
	fmt.Fprintf(&b, ".TH %q 1 %q %q \"Rowrelay\"\n.nh\n.ad l\n", strings.ToUpper(name), date, version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, long)
	flags(&b, "OPTIONS", cmd.NonInheritedFlags())
	flags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		verbatim(&b, strings.Split(strings.Trim(cmd.Example, "\n"), "\n"))
	}
	seeAlso(&b, cmd)
	return b.String()
}

// paragraphs sets running text as paragraphs, and lines that begin with spaces as they stand: they are lists and
// commands.
func paragraphs(b *strings.Builder, long string) {
	for i, paragraph := range strings.Split(strings.Trim(long, "\n"), "\n\n") {
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
				verbatim(b, lines[:n])
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

func verbatim(b *strings.Builder, lines []string) {
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

func flags(b *strings.Builder, title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	set.VisitAll(func(f *pflag.Flag) {
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

// seeAlso names the pages above and below a command.
func seeAlso(b *strings.Builder, cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, Name(cmd.Parent()))
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, Name(child))
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

var roffEscapes = map[rune]string{'\\': `\e`, '-': `\-`, '^': `\(ha`, '~': `\(ti`, '`': `\(ga`, '\'': `\(aq`,
	'"': `\(dq`}
