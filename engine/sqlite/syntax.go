// Package sqlite is the engine of SQLite 3.
package sqlite

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/sqltext"
)

// Dialect is the dialect of SQLite 3. A column's declared type is a hint there: every value has its own storage
// class, and that decides its form (read.go). A page is read to its end and closed at once: an open read would
// keep the write-ahead log from being truncated.
type Dialect struct{}

// Syntax implements engine.Dialect.
func (Dialect) Syntax() engine.Syntax {
	return engine.Syntax{
		Name:        sqltext.SQLite.Engine,
		Quote:       quote,
		Placeholder: func(n int) string { return "?" + strconv.Itoa(n) },
		// clock is not used: SQLite's times are whatever was written, and have no age that it could tell.
		Clock:       func(seconds int) string { return fmt.Sprintf("datetime('now', '%d seconds')", seconds) },
		RowValues:   true,
		StoredTimes: true,
		Text:        sqltext.SQLite,
		Words:       engine.Value{Kind: engine.KindText, Code: asString},
		Step:        func(string) time.Duration { return 0 },
		Rebuilds:    true,
		OnlyRebuilt: onlyRebuilt,
		Tracking:    tracking(),
		Advice: engine.Advice{
			Reach:    "check that the file can be read, and that no other program keeps it locked",
			NotExact: "the cursor is not an INTEGER PRIMARY KEY AUTOINCREMENT",
			Flag:     "name another column, or add a generated column that is 0 or 1 (ALTER TABLE … ADD COLUMN gone BOOLEAN AS (…))",
		},
	}
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
