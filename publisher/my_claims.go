package publisher

import (
	"github.com/rowrelay/rowrelay/engine/statement"
	"strings"
)

// myClaims is how MySQL and MariaDB write claims. They show nothing of what a statement has written: it is read back.
type myClaims struct{}

func (myClaims) draw(p place) []step {
	return []step{{write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.table, " (outbox, unit, owner, token, expires_at) VALUES (", s.Arg(p.outbox), ", '*', '', 1, ", s.Syntax.Now(),
			") ON DUPLICATE KEY UPDATE token = token + 1")
	}}, {shows: true, write: func(s *statement.Statement) {
		s.Add("SELECT token FROM ", p.table, " WHERE outbox = ", s.Arg(p.outbox), " AND unit = '*'") // the row is locked by now
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
		{write: func(s *statement.Statement) { d.insert(s, p, c, shards) }},
		{shows: true, write: func(s *statement.Statement) {
			if member == "" {
				d.mine(s, p, c, names)
			} else {
				d.mineLive(s, p, c, names, member)
			}
		}},
	}, true
}

// insert makes its assignments from left to right: expires_at, which decides, is the last.
func (myClaims) insert(s *statement.Statement, p place, c claim, shards []shard) {
	free := func(column string) string {
		return column + " = IF(c.expires_at <= " + s.Syntax.Now() + ", VALUES(" + column + "), c." + column + ")"
	}
	s.Add("INSERT INTO ", p.table, " (outbox, unit, owner, token, expires_at, info) SELECT n.* FROM (SELECT ", s.Arg(p.outbox), " AS outbox, r.unit, ",
		s.Arg(c.owner), " AS owner, ", s.Arg(c.token), " AS token, ", s.Syntax.Later(s.Arg(c.ttl.Milliseconds())), " AS expires_at, r.info FROM ",
		s.Rows("r", shardFields, jsonShards(shards)), " ORDER BY r.unit) n ON DUPLICATE KEY UPDATE ",
		strings.ReplaceAll(strings.Join([]string{free("owner"), free("token"), free("info"), free("expires_at")}, ", "), "c.", p.table+"."))
}

func (myClaims) mine(s *statement.Statement, p place, c claim, names []string) {
	s.Add("SELECT unit FROM ", p.table, " WHERE outbox = ", s.Arg(p.outbox), " AND owner = ", s.Arg(c.owner), " AND token = ", s.Arg(c.token),
		" AND expires_at > ", s.Syntax.Now(), " AND ", s.Syntax.AnyText(s, "unit", names))
}

// mineLive is mine together with the lock of the member's row. Those of the shards are locked already, by the INSERT, whoever
// has them.
func (d myClaims) mineLive(s *statement.Statement, p place, c claim, names []string, member string) {
	_, suffix := s.Syntax.Lock(false)
	d.byName(s, p, "SELECT", nil, append(names, member))
	s.Add(" AND c.owner = ", s.Arg(c.owner), " AND (c.token = ", s.Arg(c.token), " OR c.unit = ", s.Arg(member), ") AND c.expires_at > ", s.Syntax.Now(),
		" ORDER BY c.unit", suffix)
}

func (myClaims) put(p place, c claim, what shard) []step {
	return []step{{write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.table, " (outbox, unit, owner, token, expires_at, info) VALUES (", s.Arg(p.outbox), ", ", s.Arg(what.name), ", ",
			s.Arg(c.owner), ", ", s.Arg(c.token), ", ", s.Syntax.Later(s.Arg(c.ttl.Milliseconds())), ", ", s.Arg(what.info), ")",
			" ON DUPLICATE KEY UPDATE owner = VALUES(owner), token = VALUES(token), expires_at = VALUES(expires_at), info = VALUES(info)")
	}}}
}

func (myClaims) met(error) bool { return false }

func (myClaims) inTx() bool { return true }

func (myClaims) late() bool { return true }

// byName reads the list first and seeks each shard's row: the optimizer may take a list in IN for a reason to scan.
func (myClaims) byName(s *statement.Statement, p place, verb string, set func() string, names []string) {
	from := func() {
		s.Add(s.Rows("r", shardFields, jsonShards(named(names))), " STRAIGHT_JOIN ", p.table, " c ON c.outbox = ", s.Arg(p.outbox),
			" AND c.unit = r.unit ", myExact)
	}
	switch verb {
	case "SELECT":
		s.Add("SELECT c.unit FROM ")
		from()
	case "DELETE":
		s.Add("DELETE c FROM ")
		from()
	default:
		s.Add("UPDATE ")
		from()
		s.Add(" SET ", set())
	}
	s.Add(" WHERE 1 = 1")
}

func (myClaims) ddl(claims statement.Name) string {
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
