package source

import (
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/checkpointed"
)

// An incarnation is stored in every checkpoint: a name of the engine, then parts between slashes. A part is empty where
// the server did not show it to the login, and missing in what an older version wrote. A part that is not known on one
// side says nothing: more or fewer rights are no gap.
//
//	postgres/system/timeline/database's oid/its name       a name may hold a slash
//	mysql/server_uuid
//	mariadb/gtid_domain_id/server_id
//	galera/cluster's state
//	sqlserver/create_date/recovery fork/database in the availability group/service broker/geo-replication link

// Compare says how the database that answered is related to the one that a position was read in, by their incarnations,
// and what is to be recorded of both: what is not shown any more stays.
func (c *Cursor) Compare(was, is string) (checkpointed.Relation, string) {
	return compareLives(was, is)
}

func compareLives(was, is string) (checkpointed.Relation, string) {
	a, b := strings.Split(was, "/"), strings.Split(is, "/")
	if was == is || was == "" || is == "" {
		return checkpointed.SameDatabase, merge(a, b)
	}
	if a[0] != b[0] {
		return checkpointed.AnotherDatabase, is
	}
	relation := checkpointed.AnotherDatabase
	switch a[0] {
	case "postgres":
		relation = related(a, b, 2)
	case "mysql":
		relation = related(a, b, 1)
	case "galera":
		relation = related(a, b, -1) // every node shows the same
	case "mariadb":
		relation = related(a, b, 2)
	case "sqlserver":
		relation = sqlServerRelation(a, b)
	}
	if relation == checkpointed.SameDatabase {
		return relation, merge(a, b)
	}
	return relation, is
}

// related compares lives of which one part may change by a failover: PostgreSQL's timeline, the server_uuid of MySQL,
// the server_id of MariaDB. A restored copy of a database changes the same: that it is none is the operator's promise,
// by source__on_failover=continue.
func related(a, b []string, changes int) checkpointed.Relation {
	relation := checkpointed.SameDatabase
	for i := range max(len(a), len(b)) {
		switch {
		case !differ(a, b, i):
		case i == changes:
			relation = checkpointed.FailedOver
		default:
			return checkpointed.AnotherDatabase
		}
	}
	return relation
}

// The parts of SQL Server's incarnation.
const (
	partCreated = 1 + iota
	partFork
	partGroup
	partBroker
	partLink
)

// sqlServerRelation tells restores from failovers. Every replica has a create_date of its own. A RESTORE begins a
// recovery fork, and so does a failover that was forced; a planned one does not. A database has one number in all
// replicas of its availability group, and gets another one when it is restored and joined again. Azure SQL Database
// shows neither: there the service broker's number is copied with the data, to a geo-secondary as well as to a restored
// copy, and the link between two replicas tells these apart where the login may see it.
func sqlServerRelation(a, b []string) checkpointed.Relation {
	switch {
	case !differ(a, b, partCreated) && !differ(a, b, partFork):
		return checkpointed.SameDatabase
	case same(a, b, partGroup):
		return checkpointed.FailedOver
	case differ(a, b, partGroup), differ(a, b, partFork), differ(a, b, partLink):
		return checkpointed.AnotherDatabase
	case same(a, b, partFork), same(a, b, partLink):
		return checkpointed.FailedOver
	case same(a, b, partBroker): // only Azure SQL Database's is read
		return checkpointed.FailedOver
	}
	return checkpointed.AnotherDatabase
}

func part(life []string, i int) string {
	if i < len(life) {
		return life[i]
	}
	return ""
}

// same and differ are both false where one side does not know the part. A part of several links, with plus signs
// between them, is the same where one of them is.
func same(a, b []string, i int) bool {
	theirs := strings.Split(part(b, i), "+")
	return part(a, i) != "" && slices.ContainsFunc(strings.Split(part(a, i), "+"), func(v string) bool { return slices.Contains(theirs, v) })
}

func differ(a, b []string, i int) bool {
	return part(a, i) != "" && part(b, i) != "" && !same(a, b, i)
}

// merge is the newer of two lives of one database, with what only the older one knows.
func merge(was, is []string) string {
	merged := make([]string, max(len(was), len(is)))
	for i := range merged {
		if merged[i] = part(is, i); merged[i] == "" {
			merged[i] = part(was, i)
		}
	}
	return strings.Join(merged, "/")
}
