package poller

import (
	"fmt"
	"strings"
)

// sameLife compares the incarnation of the database that answered with that of the checkpoint. Where a failover to a replica
// may go on (source__on_failover=continue), it does, with a warning, and the next commit records the new one.
func (s *checkpointed) sameLife(incarnation string) error {
	switch {
	case s.life == "", incarnation == "", s.life == incarnation:
		return nil
	case s.feed.cfg.Continue && isFailover(s.life, incarnation):
		s.warn(fmt.Sprintf("the database failed over (incarnation %s, now %s), and source__on_failover=continue goes on: rows "+
			"that the old primary had not replicated are lost, and what took their place may lie behind the checkpoint", s.life, incarnation))
		s.life = incarnation
		return nil
	}
	return &Fault{SourceGap, fmt.Errorf("the database is not the one that the checkpoint was taken "+
		"from (incarnation %s, now %s): it was restored, failed over or replaced, and rows may have come or gone behind the "+
		"checkpoint. %s", s.life, incarnation, s.waysOn())}
}

// waysOn names what an operator can do about a gap.
func (s *checkpointed) waysOn() string {
	name := s.feed.cfg.address()
	return fmt.Sprintf("Run `rowrelay state accept-gap %s` to go on at the stored position, or `rowrelay state reset %s --to "+
		"beginning` to start over", name, name)
}

// isFailover reports whether two incarnations differ in no more than what a failover to a replica changes: PostgreSQL's
// timeline, the server_uuid of MySQL, the server_id of MariaDB. A restored copy of a database changes the same, so that
// continuing is a promise of the operator's. What incarnations look like is the dialects' business (source/postgres.go,
// source/mysql.go).
func isFailover(was, is string) bool {
	a, b := strings.Split(was, "/"), strings.Split(is, "/")
	if len(a) != len(b) {
		return false
	}
	var changes int // the part that may differ
	switch a[0] {
	case "postgres": // postgres/system/timeline/database's oid/name; a name may hold a slash
		changes = 2
	case "mysql": // mysql/server_uuid
		changes = 1
	case "mariadb": // mariadb/domain/server_id
		changes = 2
	default:
		return false
	}
	for i := range a {
		if a[i] != b[i] && i != changes {
			return false
		}
	}
	return true
}
