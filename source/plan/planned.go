package plan

import (
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// Plan is what the settings mean on the table as the catalog shows it. It is immutable: a catalog that changed gives a
// new plan.
type Plan struct {
	Dialect engine.Dialect
	Syntax  engine.Syntax
	Table   engine.Table
	Tracked *Tracked // nil in cursor mode, and of a history
	// History is what rows say that are changes; nil where they are rows.
	History *History
	// Whole reads the table itself in the order of its key; nil in cursor mode.
	Whole *Plan
	Sel   keyset.Selection
	// Numbered reads pages with the number of each row's writer, as the last column; nil where that says nothing.
	Numbered *Plan
	// Marked reads the rows that source__where does not choose too, and which they are, as the last column; nil where
	// there is no condition, and where a query or view has the rows.
	Marked *Plan
	// Names holds, for each projected column of the row, `"name":` ready to be written; the first len(names) columns of
	// sel.columns are the row's, the others are read for key, cursor, order key and delete_when only.
	Names []string
	// The columns of each part, as indexes in sel.columns.
	Cursor, Key, OrderKey   []int
	Order                   []int // sel.order's: cursor, then the key's that are not in it
	StoredTimes             bool  // the syntax's
	Forms                   timeform.Rules
	KeyNames, OrderKeyNames []string      // `"name":` of each
	Shape, KeyShape         *change.Shape // KeyShape: of a deleted row, of which the key is all that is known
	DeleteWhen              int           // -1: none
	Op                      change.Op
	CursorKind              string // integer+pk, …
	Late                    Late
	Coarse                  bool // the order key is not the row's key
	TimeOf                  int  // index in cursor of the column that gives Event.Time; -1: none
	UniqueCursor            bool // a rowversion: the cursor alone tells two versions of a row apart
	KeyProved               bool
	KeyProof                string // for people
	IndexName               string // the index that serves the order; "" when none does, or unknown
	IndexAdvice             string // the statement that makes one; "" when there is one, or for a query
	Fingerprint             string
	Warnings                []string
}

// Late is how a plan keeps rows from being passed over that become visible below the position (docs/late-commits.md):
// what source__late_commits says, or what auto chose.
type Late struct {
	Mode late.Mode
	// Auto says that the mode was chosen, not said; why says what decided.
	Auto bool
	Why  string
	// Refused says why nothing may be delivered so; nil where it may. What the mode would be can be shown all the same.
	Refused error
	// Ordered says that overlap keeps the order of an order key that rows share (Range.Known).
	Ordered bool
	// Exact is how an exact source stays below its safe point; ExactNone in the other modes.
	Exact exactWay
}

// Tracked is what the rows of a change table say beside the row itself, as indexes in Sel.Columns.
type Tracked struct {
	// Version is the row's cursor, Created the version of its last insert. Present is NULL where the row is gone.
	Version, Created, Present int
	// Touched is the version of the last write that counts, by source__changed and source__ignore_context; -1 where all
	// do.
	Touched int
	// Mask and Context are which columns were written, and by whom (engine.BuiltIn.Written); -1 where rows do not tell.
	Mask, Context int
	// Floor is the version up to which changes may be missing, Head the highest version that there is; -1 where rows do
	// not tell.
	Floor, Head int
}

// History is what the rows of a history say beside the row that was written, as indexes in Sel.Columns.
type History struct {
	// Operation is what was done, Written when, Context by whom (-1 where the engine does not know).
	Operation, Written, Context int
	// Was are the columns with the values before an update, for each of Plan.Names (-1: it was not recorded); nil where
	// nobody asks.
	Was []int
	// WasKey is the one of the key's first column; -1 where nobody asks.
	WasKey int
}

// indexes finds catalog columns in the selection, adding those that are not yet selected.
func (p *Plan) indexes(catalog []int) []int {
	var at []int
	for _, i := range catalog {
		c := p.Table.Columns[i]
		j := slices.IndexFunc(p.Sel.Columns, func(s engine.Column) bool { return s.Name == c.Name })
		if j < 0 {
			j = len(p.Sel.Columns)
			p.Sel.Columns = append(p.Sel.Columns, c)
		}
		at = append(at, j)
	}
	return at
}

// kindOfCursor is the stored cursor's "kind"; "" where values of a kind cannot be a cursor.
func kindOfCursor(k engine.Kind) string {
	switch k {
	case engine.KindInteger:
		return "integer+pk"
	case engine.KindDecimal:
		return "decimal+pk"
	case engine.KindDate:
		return "date+pk"
	case engine.KindDateTime, engine.KindInstant, engine.KindOffsetTime:
		return "timestamp+pk"
	case engine.KindRowVersion:
		return "rowversion+pk"
	default:
		return ""
	}
}

// exactWay is how an exact source stays below its safe point.
type exactWay uint8
