package publisher

import "strings"

// myClaims is how MySQL and MariaDB write claims. They show nothing of what a statement has written: it is read back.
type myClaims struct{}

func (myClaims) draw(p place) []step {
	return []step{{write: func(s *statement) {
		s.add("INSERT INTO ", p.table, " (outbox, unit, owner, token, expires_at) VALUES (", s.arg(p.outbox), ", '*', '', 1, ", s.syntax.now(),
			") ON DUPLICATE KEY UPDATE token = token + 1")
	}}, {shows: true, write: func(s *statement) {
		s.add("SELECT token FROM ", p.table, " WHERE outbox = ", s.arg(p.outbox), " AND unit = '*'") // the row is locked by now
	}}}
}

// take inserts or replaces the claims in one statement, and reads back which of them are the owner's now. A token is drawn for
// each attempt, so that what was taken under it before is of this attempt, too: the answer to that was lost.
func (d myClaims) take(p place, c claim, shards []shard, member string) ([]step, bool) {
	names := make([]string, len(shards))
	for i, s := range shards {
		names[i] = s.name
	}
	return []step{
		{write: func(s *statement) { d.insert(s, p, c, shards) }},
		{shows: true, write: func(s *statement) {
			if member == "" {
				d.mine(s, p, c, names)
			} else {
				d.mineLive(s, p, c, names, member)
			}
		}},
	}, true
}

// insert makes its assignments from left to right: expires_at, which decides, is the last.
func (myClaims) insert(s *statement, p place, c claim, shards []shard) {
	free := func(column string) string {
		return column + " = IF(c.expires_at <= " + s.syntax.now() + ", VALUES(" + column + "), c." + column + ")"
	}
	s.add("INSERT INTO ", p.table, " (outbox, unit, owner, token, expires_at, info) SELECT n.* FROM (SELECT ", s.arg(p.outbox), " AS outbox, r.unit, ",
		s.arg(c.owner), " AS owner, ", s.arg(c.token), " AS token, ", s.syntax.later(s.arg(c.ttl.Milliseconds())), " AS expires_at, r.info FROM ",
		s.rows("r", shardFields, jsonShards(shards)), " ORDER BY r.unit) n ON DUPLICATE KEY UPDATE ",
		strings.ReplaceAll(strings.Join([]string{free("owner"), free("token"), free("info"), free("expires_at")}, ", "), "c.", p.table+"."))
}

func (myClaims) mine(s *statement, p place, c claim, names []string) {
	s.add("SELECT unit FROM ", p.table, " WHERE outbox = ", s.arg(p.outbox), " AND owner = ", s.arg(c.owner), " AND token = ", s.arg(c.token),
		" AND expires_at > ", s.syntax.now(), " AND ", s.syntax.anyText(s, "unit", names))
}

// mineLive is mine together with the lock of the member's row. Those of the shards are locked already, by the INSERT, whoever
// has them.
func (d myClaims) mineLive(s *statement, p place, c claim, names []string, member string) {
	_, suffix := s.syntax.lock(false)
	d.byName(s, p, "SELECT", nil, append(names, member))
	s.add(" AND c.owner = ", s.arg(c.owner), " AND (c.token = ", s.arg(c.token), " OR c.unit = ", s.arg(member), ") AND c.expires_at > ", s.syntax.now(),
		" ORDER BY c.unit", suffix)
}

func (myClaims) put(p place, c claim, what shard) []step {
	return []step{{write: func(s *statement) {
		s.add("INSERT INTO ", p.table, " (outbox, unit, owner, token, expires_at, info) VALUES (", s.arg(p.outbox), ", ", s.arg(what.name), ", ",
			s.arg(c.owner), ", ", s.arg(c.token), ", ", s.syntax.later(s.arg(c.ttl.Milliseconds())), ", ", s.arg(what.info), ")",
			" ON DUPLICATE KEY UPDATE owner = VALUES(owner), token = VALUES(token), expires_at = VALUES(expires_at), info = VALUES(info)")
	}}}
}

func (myClaims) met(error) bool { return false }

func (myClaims) inTx() bool { return true }

func (myClaims) late() bool { return true }

// byName reads the list first and seeks each shard's row: the optimizer may take a list in IN for a reason to scan.
func (myClaims) byName(s *statement, p place, verb string, set func() string, names []string) {
	from := func() {
		s.add(s.rows("r", shardFields, jsonShards(named(names))), " STRAIGHT_JOIN ", p.table, " c ON c.outbox = ", s.arg(p.outbox),
			" AND c.unit = r.unit ", myExact)
	}
	switch verb {
	case "SELECT":
		s.add("SELECT c.unit FROM ")
		from()
	case "DELETE":
		s.add("DELETE c FROM ")
		from()
	default:
		s.add("UPDATE ")
		from()
		s.add(" SET ", set())
	}
	s.add(" WHERE 1 = 1")
}

func (myClaims) ddl(claims name) string {
	return `CREATE TABLE IF NOT EXISTS ` + claims.String() + ` (
    outbox varchar(190) NOT NULL,
    unit varchar(255) NOT NULL,
    owner varchar(255) NOT NULL,
    token bigint NOT NULL,
    expires_at datetime(6) NOT NULL,
    info varchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 ` + myExact
}
