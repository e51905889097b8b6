package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// defaultLateWindow is source__late_window where it is not said.
const defaultLateWindow = 2 * time.Minute

const (
	ExactNone      exactWay = iota
	ExactWatermark          // SQL Server: rowversions below MIN_ACTIVE_ROWVERSION()
	ExactSnapshots          // PostgreSQL: windows between two snapshots, over a column of transaction ids
	exactOneWriter          // SQLite: ids and commits are of one order
)

// ByWindows reports whether the plan's positions are windows between snapshots, and not those of rows.
func (p *Plan) ByWindows() bool { return p.Late.Exact == ExactSnapshots }

// lateAuto is the value of source__late_commits that lets the plan choose.
const lateAuto = "auto"

// checkLate completes and checks what the settings say of late commits.
func (c *Config) checkLate() error {
	if c.LateCommits == "" {
		c.LateCommits = lateAuto
	}
	if c.LateWindow == 0 {
		c.LateWindow = defaultLateWindow
	}
	if !slices.Contains([]string{lateAuto, string(late.Exact), string(late.Overlap), string(late.Settle),
		string(late.None)}, c.LateCommits) {
		return fmt.Errorf("source__late_commits is %q: it is auto, exact, overlap, settle or none", c.LateCommits)
	}
	if c.LateWindow < time.Second {
		return fmt.Errorf("source__late_window is %v: it is at least 1s", c.LateWindow)
	}
	return nil
}

// late decides the mode on the table and the server at hand, and refuses what is unsafe there.
func (r *resolver) late(cursor []int) Late {
	way, why := r.exact(cursor)
	l := Late{Mode: late.Mode(r.cfg.LateCommits), Why: "source__late_commits says so"}
	if t := &r.plan.Table; t.Changes != nil && t.ReadOnly && r.all()[cursor[0]].Value.Transaction {
		// Nothing else than windows between snapshots finds every change by its transaction, nor one that is missing.
		r.fault("source__mode=changetracking: %s", why)
		return l
	}
	switch l.Mode {
	case lateAuto, "":
		l.Auto = true
		l.Mode, l.Why = late.Overlap, "exact is not possible: "+why
		if way != ExactNone && (r.cfg.Query != "" || r.plan.Table.View) {
			l.Why = "exact cannot be chosen by itself for a query or view, which may read what the safe point does not cover: " +
				"set source__late_commits=exact if it reads only tables of this database"
		} else if way != ExactNone {
			l.Mode, l.Exact, l.Why = late.Exact, way, why
		}
	case late.Exact:
		if l.Exact = way; way == ExactNone {
			r.fault("source__late_commits=exact: %s; leave this setting out, or use overlap, which is safe on every table", why)
		}
	}
	if l.Mode == late.Exact && way != ExactNone &&
		(r.cfg.Query != "" || r.plan.Table.View || readsMore.MatchString(r.cfg.Where)) {
		r.plan.Warnings = append(r.plan.Warnings,
			"exact covers the table that the cursor is a column of: where a query, a view or source__where reads another table too, "+
				"a row that appears because of what was written there carries an old cursor, and is not delivered; update the cursor's row in the transaction that writes the other table")
	}
	switch {
	case l.Mode == late.Settle:
		r.checkSettle(cursor)
	case l.Mode != late.Overlap || !r.plan.Coarse:
	case r.cfg.Tracked:
		l.Refused = fmt.Errorf("%w: source__order_key: here a change is found by the time of its write, and %s. Ways out: remove "+
			"source__order_key, for the changes of one row are in order; or source__mode=cursor, where overlap keeps the order",
			poller.ErrConfig, late.Unordered)
	default:
		if _, l.Ordered = r.plan.Dialect.(engine.Snapshotter); !l.Ordered {
			l.Refused = fmt.Errorf("%w: source__order_key: source__late_commits is overlap (%s), and there %s. Ways out: %s",
				poller.ErrConfig, l.Why, late.Unordered, late.OrderMend)
		}
	}
	return l
}

// readsMore finds a condition that may read another table.
var readsMore = regexp.MustCompile(`(?i)\bselect\b`)

// exact tells how the table can be read exactly, and why; or ExactNone, and why it cannot.
func (r *resolver) exact(cursor []int) (exactWay, string) {
	if len(cursor) != 1 {
		return ExactNone, "the cursor is not a single column"
	}
	t, c := &r.plan.Table, &r.all()[cursor[0]]
	switch {
	case t.Changes != nil && r.plan.Syntax.Tracking.Counted:
		return exactOneWriter, "the versions of changes are counted in the order of commits"
	case c.Value.Kind == engine.KindRowVersion && t.Foreign:
		return ExactNone, fmt.Sprintf("%s lies in another database than the connection's, and each has its own counter of rowversions: name that database in the connection string", t.Name)
	case c.Value.Kind == engine.KindRowVersion && t.ReadOnly:
		return ExactNone, "the server at hand is a readable secondary, where MIN_ACTIVE_ROWVERSION() does not count the primary's open transactions: connect to the primary (without ApplicationIntent=ReadOnly)"
	case c.Value.Kind == engine.KindRowVersion:
		return ExactWatermark, fmt.Sprintf("%q is a rowversion: rows below MIN_ACTIVE_ROWVERSION() are committed", c.Name)
	case c.Value.Transaction && t.ReadOnly:
		return ExactNone, "the server at hand is a standby, whose snapshots leave out open transactions: connect to the primary (target_session_attrs=read-write)"
	case c.Value.Transaction:
		return ExactSnapshots, fmt.Sprintf("%q is an xid8: what a snapshot sees that the one before did not has been committed in between", c.Name)
	case c.Serial && len(t.PrimaryKey) == 1 && t.PrimaryKey[0] == c.Name:
		return exactOneWriter, fmt.Sprintf("%q is an AUTOINCREMENT key, and SQLite has one writer at a time: ids are of the order of commits", c.Name)
	}
	if t.History != nil {
		return ExactNone, "changes are numbered as they are made, and not as they are committed"
	}
	return ExactNone, r.plan.Syntax.Advice.NotExact
}

// checkSettle refuses what does not settle: a cursor that updates move, where a row that is written again and again may
// never be older than the window.
func (r *resolver) checkSettle(cursor []int) {
	for _, i := range cursor {
		c := &r.all()[i]
		if why := MovedBy(c); why != "" {
			r.fault("source__late_commits=settle: column %q %s, and a row that is written more often than source__late_window would never be delivered; "+
				"use overlap, which is safe on every table", c.Name, why)
		}
		if r.plan.StoredTimes && c.Value.Kind.IsTime() {
			r.fault("source__late_commits=settle: column %q of type %s holds times as text or numbers of any form, whose age SQLite cannot tell; use overlap, or a cursor that is an AUTOINCREMENT key", c.Name, c.Type)
		}
	}
}

// movingWords begin a word of the name of a column that every update sets (updated_at, LastChange, date_modified,
// lastmod); movingNames are whole names.
var (
	movingWords = []string{"updat", "modif", "chang", "edit", "touch", "mtime", "last"}
	movingNames = []string{"version", "revision", "rev", "row_version", "rowversion", "lock_version", "etag"}
)

// MovedBy says why updates move a column; "" where nothing says that they do. For a column of an ordinary type only its
// name tells.
func MovedBy(c *engine.Column) string {
	switch {
	case c.Value.Kind == engine.KindRowVersion:
		return "is a rowversion, which every write moves"
	case c.Value.Transaction:
		return "is an xid8, which holds the last writer"
	case c.Moving:
		return "is set by the database itself with every update (ON UPDATE CURRENT_TIMESTAMP, or the period of a temporal table)"
	}
	for _, part := range wordsOf(c.Name) {
		for _, word := range movingWords {
			if strings.HasPrefix(part, word) {
				return fmt.Sprintf("has a word in its name that begins with %q, so updates are taken to move it (as with any of %s; or the names %s)", word,
					strings.Join(movingWords, ", "), strings.Join(movingNames, ", "))
			}
		}
	}
	if slices.Contains(movingNames, strings.ToLower(c.Name)) {
		return fmt.Sprintf("has a name by which updates are taken to move it (%s; or a name with a word that begins with any of %s)",
			strings.Join(movingNames, ", "), strings.Join(movingWords, ", "))
	}
	return ""
}

// glued stand in front of a moving word without anything between them, where a name is written in small letters only.
var glued = []string{"date", "time", "dt", "ts", "is"}

// wordsOf are the words of a column's name in small letters: updated_at, updatedAt and UPDATED AT have two each.
func wordsOf(name string) (words []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = nil
	}
	letters := []rune(name)
	for i, r := range letters {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		// A capital begins a word after a small letter (updatedAt), and before one (RowIDUpdated).
		if unicode.IsUpper(r) && i > 0 &&
			(!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			end()
		}
		word = append(word, r)
	}
	end()
	for _, w := range words {
		for _, front := range glued {
			if rest, found := strings.CutPrefix(w, front); found {
				words = append(words, rest)
			}
		}
	}
	return words
}

// sameColumns reports whether two lists name the same columns, in any order.
func sameColumns(a, b []int) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(i int) bool { return !slices.Contains(b, i) })
}
