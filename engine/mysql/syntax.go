// Package mysql is the engine of MySQL 8, and MariaDB 10.11 and later.
package mysql

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/sqltext"
)

// Dialect is the dialect of MySQL 8 and MariaDB 10.11 and later.
//
// Row values are not used: MariaDB 10.11 reads (a, b) > (x, y) from the index's beginning (150,520 rows for a page of
// 501 in the middle of 200,000), the expanded form as a range (501). Literals are cast to the column's type where MySQL
// would compare as floating point or as text.
type Dialect struct{}

// Syntax implements engine.Dialect.
func (Dialect) Syntax() engine.Syntax {
	return engine.Syntax{
		Name:        sqltext.MySQL.Engine,
		Quote:       quote,
		Placeholder: func(int) string { return "?" },
		Clock:       func(seconds int) string { return fmt.Sprintf("(UTC_TIMESTAMP(6) + INTERVAL %d SECOND)", seconds) },
		Positional:  true,
		Text:        sqltext.MySQL,
		Words:       engine.Value{Kind: engine.KindText, Code: myText},
		Step:        func(typ string) time.Duration { return engine.TypeStep(typ, 0) },
		Rebuilds:    true,
		Tracking:    tracking(),
		Advice: engine.Advice{
			Reach:    engine.ReachServer,
			Grant:    "GRANT PROCESS ON *.* to the user",
			NotExact: "MySQL and MariaDB show no safe point",
			Flag:     engine.FlagByCase,
		},
	}
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
