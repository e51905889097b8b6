package production

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// marks stand in front of what was found, so that the eye and grep find it.
var marks = map[Verdict]string{OK: "ok", ToMend: "TO MEND", CannotTell: "?", NoMatter: "-"}

// WriteText writes the report for people: a line for each answer, and the mend under it where there is one.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	width := 0
	for _, item := range r.Items {
		width = max(width, len(item.ID))
	}
	line("Production checklist of %s (docs/production.md)", r.App)
	group := ""
	for _, item := range r.Items {
		if item.Group != group {
			group = item.Group
			line("\n%s", group)
		}
		several := len(item.Answers) > 1
		for _, a := range item.Answers {
			mark, seen := marks[a.Verdict], a.Seen
			if a.Accepted {
				mark = "accepted"
			}
			if several {
				seen = a.Of + ": " + seen
			}
			line("  %-8s  %-*s  %s", mark, width, item.ID, hang(seen, width+14))
			if a.Verdict == ToMend && !a.Accepted || a.Verdict == CannotTell {
				line("  %-8s  %-*s  → %s", "", width, "", hang(a.Mend, width+16))
			}
		}
	}
	line("\n%d ok, %d to mend, %d cannot be told from here, %d do not apply%s", r.Counts[string(OK)], r.ToMend(),
		r.Counts[string(CannotTell)], r.Counts[string(NoMatter)], r.acceptedText())
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) acceptedText() string {
	if n := r.Counts["accepted"]; n > 0 {
		return fmt.Sprintf(", %d accepted", n)
	}
	return ""
}

// lineWidth is where lines are folded.
const lineWidth = 130

// hang folds a text so that its further lines stand below its first one, which begins at a column.
func hang(text string, column int) string {
	var b strings.Builder
	at := column
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > lineWidth:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
