// Package printing writes what a command found out: lines and labelled values for people, JSON for machines.
package printing

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rowrelay/rowrelay/plaintext"
)

// Printer writes lines until one fails.
type Printer struct {
	W   io.Writer
	Err error // why it ended
}

// Line writes a line.
func (p *Printer) Line(format string, args ...any) {
	if p.Err == nil {
		_, p.Err = fmt.Fprintf(p.W, format+"\n", args...)
	}
}

// Lines writes texts, a line each.
func (p *Printer) Lines(texts []string) {
	for _, text := range texts {
		p.Line("%s", text)
	}
}

// Marked writes texts, a line each, behind a mark.
func (p *Printer) Marked(mark string, texts []string) {
	for _, text := range texts {
		p.Line("  %s %s", mark, text)
	}
}

// Comments writes texts as comments of SQL: no line of them may be taken for a statement.
func (p *Printer) Comments(who string, texts ...string) {
	for _, text := range texts {
		p.Line("-- %s%s", who, plaintext.Line(text))
	}
}

// Field writes a labelled value, its further lines indented; nothing where there is no value. A blank follows a label
// of any length.
func (p *Printer) Field(label, value string) {
	const width = 11
	value = strings.TrimSpace(value)
	if value == "" {
		return
	}
	if len(label) >= width {
		label += " "
	}
	p.Line("  %-*s%s", width, label, strings.ReplaceAll(value, "\n", "\n             "))
}

// width is how wide wrapped values are, as far as words can be broken.
const width = 80

// Wrapped writes a text under its name, in lines that are as long as width where it has spaces to break at.
func (p *Printer) Wrapped(name, text string) {
	if text == "" {
		return
	}
	const indent = 11
	line := fmt.Sprintf("  %-*s", indent-2, name)
	used := indent
	if len(name) > indent-3 {
		line += " "
		used = len(line)
	}
	begun := false
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if begun && used+1+n > width {
			p.Line("%s", line)
			line, used, begun = strings.Repeat(" ", indent), indent, false
		}
		if begun {
			line += " "
			used++
		}
		line += word
		used += n
		begun = true
	}
	p.Line("%s", line)
}

// Count is a number of things, "no" for none.
func Count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// AtLeast is a number that was counted no further than a bound; 0 is none.
func AtLeast(n, bound int64) string {
	if bound > 0 && n >= bound {
		return fmt.Sprintf("at least %d", n)
	}
	return fmt.Sprint(n)
}

// Seconds is a duration as people read it, to a tenth of a second.
func Seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// JSON writes one value, indented.
func JSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// JSONLine writes one value on a line.
func JSONLine(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
