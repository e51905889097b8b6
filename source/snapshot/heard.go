package snapshot

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// Heard is what the server says of itself with each page, in the page's own snapshot.
type Heard struct {
	// Now is that snapshot.
	Now Snapshot
	// Table is the table's identity (engine.Table.Identifying), Head and Floor the change table's (engine.ChangeTable);
	// "" where there is none.
	Table, Head, Floor string
}

// Columns follow a row's: what is heard, and what is NULL but in the row that follows all others, which is none.
func (p Reader) Columns() []engine.Column {
	return []engine.Column{{Name: "heard", Value: p.Sel.Syntax.Words}, {Name: "ended", Value: p.Sel.Syntax.Words}}
}

// Heard is the expression that ParseHeard reads.
func (p Reader) Heard() string {
	said := func(expr string) string {
		if expr == "" {
			return "''"
		}
		return "COALESCE((" + expr + ")::text, '')"
	}
	return "concat_ws('|', pg_current_snapshot(), pg_is_in_recovery(), " + said(p.Table) + ", " + said(p.Head) + ", " +
		said(p.Floor) + ")"
}

// ParseHeard reads what Heard says. A standby is refused.
func ParseHeard(text string) (h Heard, err error) {
	parts := strings.Split(text, "|")
	switch {
	case len(parts) != 5:
		return h, fmt.Errorf("the server says %.80q of its snapshot", text)
	case parts[1] != "f":
		return h, fmt.Errorf("%w: source__late_commits=exact: the server that answered is a standby, whose snapshots leave out open transactions, so that rows would be lost: "+
			"connect to the primary (target_session_attrs=read-write), or use overlap", poller.ErrConfig)
	}
	if h.Now, err = Parse(parts[0]); err != nil {
		return h, fmt.Errorf("read the present snapshot: %w", err)
	}
	h.Table, h.Head, h.Floor = parts[2], parts[3], parts[4]
	return h, nil
}
