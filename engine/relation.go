package engine

import (
	"slices"
	"strings"
)

// An incarnation is stored in every checkpoint: a name of the engine, then parts between slashes. A part is empty where
// the server did not show it to the login, and missing in what an older version wrote. A part that is not known on one
// side says nothing: more or fewer rights are no gap. What the parts are, each engine says (incarnation.go).

// Relation is how a database is related to another.
type Relation uint8

const (
	// AnotherDatabase: it was restored or replaced.
	AnotherDatabase Relation = iota
	// SameDatabase: nothing that is known of both differs.
	SameDatabase
	// FailedOver: a replica has taken over, as far as the engine can tell.
	FailedOver
)

// Compare says how the database of an incarnation is related to that of an earlier one, and what is to be recorded of
// both: what is not shown any more stays.
func Compare(d Dialect, was, is string) (Relation, string) {
	a, b := strings.Split(was, "/"), strings.Split(is, "/")
	if was == is || was == "" || is == "" {
		return SameDatabase, merge(a, b)
	}
	if a[0] != b[0] {
		return AnotherDatabase, is
	}
	found := d.Related(a, b)
	if found == SameDatabase {
		return found, merge(a, b)
	}
	return found, is
}

// RelatedBut compares incarnations of which one part may change by a failover, -1 for none. A restored copy of a
// database changes the same: that it is none is the operator's promise, by source__on_failover=continue.
func RelatedBut(a, b []string, changes int) Relation {
	found := SameDatabase
	for i := range max(len(a), len(b)) {
		switch {
		case !Differ(a, b, i):
		case i == changes:
			found = FailedOver
		default:
			return AnotherDatabase
		}
	}
	return found
}

func part(incarnation []string, i int) string {
	if i < len(incarnation) {
		return incarnation[i]
	}
	return ""
}

// Same and differ are both false where one side does not know the part. A part of several links, with plus signs
// between them, is the same where one of them is.
func Same(a, b []string, i int) bool {
	theirs := strings.Split(part(b, i), "+")
	return part(a, i) != "" && slices.ContainsFunc(strings.Split(part(a, i), "+"), func(v string) bool {
		return slices.Contains(theirs, v)
	})
}

// Differ reports whether both sides know a part, and it is not the same.
func Differ(a, b []string, i int) bool {
	return part(a, i) != "" && part(b, i) != "" && !Same(a, b, i)
}

// merge is the newer of two incarnations of one database, with what only the older one knows.
func merge(was, is []string) string {
	merged := make([]string, max(len(was), len(is)))
	for i := range merged {
		if merged[i] = part(is, i); merged[i] == "" {
			merged[i] = part(was, i)
		}
	}
	return strings.Join(merged, "/")
}
