package sqlite

import (
	"strconv"
	"strings"
)

// SQLite has no incarnation: a file that was restored looks like the file it was.

// schemaIdentity begins the identity of SQLite's tables.
const schemaIdentity = "schema "

// onlyRebuilt reports whether SQLite's schema has changed too little for a table to have been dropped and made again.
func onlyRebuilt(was, is string) bool {
	before, ok1 := strings.CutPrefix(was, schemaIdentity)
	after, ok2 := strings.CutPrefix(is, schemaIdentity)
	a, err1 := strconv.ParseInt(before, 10, 64)
	b, err2 := strconv.ParseInt(after, 10, 64)
	return ok1 && ok2 && err1 == nil && err2 == nil && b-a == 1
}
