package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// marks stand in front of what was found, so that the eye and grep find it.
var marks = map[verdict]string{isOK: "ok", toMend: "TO MEND", cannotTell: "?", noMatter: "-"}

// printProduction writes the checklist for people: a line for each answer, and the mend under it where there is one.
func printProduction(w io.Writer, view *productionView) error {
	p := &printer{w: w}
	width := 0
	for _, item := range view.Items {
		width = max(width, len(item.ID))
	}
	p.line("Production checklist of %s (docs/production.md)", view.App)
	group := ""
	for _, item := range view.Items {
		if item.Group != group {
			group = item.Group
			p.line("\n%s", group)
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
			p.line("  %-8s  %-*s  %s", mark, width, item.ID, hang(seen, width+14))
			if a.Verdict == toMend && !a.Accepted || a.Verdict == cannotTell {
				p.line("  %-8s  %-*s  → %s", "", width, "", hang(a.Mend, width+16))
			}
		}
	}
	p.line("\n%d ok, %d to mend, %d cannot be told from here, %d do not apply%s", view.Counts[string(isOK)], view.Counts[string(toMend)],
		view.Counts[string(cannotTell)], view.Counts[string(noMatter)], acceptedText(view))
	return p.err
}

func acceptedText(view *productionView) string {
	if n := view.Counts["accepted"]; n > 0 {
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
