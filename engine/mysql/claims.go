package mysql

import (
	"strings"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how MySQL and MariaDB write claims. They show nothing of what a statement has written: it is read back.
type Claims struct{}

// Draw counts the token up by an upsert and reads it back. The row stays locked in between, so no other draw can count.
func (Claims) Draw(p claims.Place) []claims.Step {
	return []claims.Step{{Write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.Table, " (outbox, unit, owner, token, expires_at) VALUES (", s.Arg(p.Outbox),
			", '*', '', 1, ", s.Syntax.Now(),
			") ON DUPLICATE KEY UPDATE token = token + 1")
	}}, {Shows: true, Write: func(s *statement.Statement) {
		s.Add("SELECT token FROM ", p.Table, " WHERE outbox = ", s.Arg(p.Outbox),
			" AND unit = '*'") // the row is locked by now
	}}}
}

// Take inserts or replaces the claims in one statement, and reads back which of them are the owner's now. A token is
// drawn for each attempt, so that what was taken under it before is of this attempt, too: the answer to that was
// lost.
func (d Claims) Take(p claims.Place, c claims.Claim, shards []claims.Shard, member string) ([]claims.Step, bool) {
	names := make([]string, len(shards))
	for i, s := range shards {
		names[i] = s.Name
	}
	return []claims.Step{
		{Write: func(s *statement.Statement) { d.insert(s, p, c, shards) }},
		{Shows: true, Write: func(s *statement.Statement) {
			if member == "" {
				d.mine(s, p, c, names)
			} else {
				d.mineLive(s, p, c, names, member)
			}
		}},
	}, true
}

// insert makes its assignments from left to right: expires_at, which decides, is the last.
func (Claims) insert(s *statement.Statement, p claims.Place, c claims.Claim, shards []claims.Shard) {
	free := func(column string) string {
		return column + " = IF(c.expires_at <= " + s.Syntax.Now() + ", VALUES(" + column + "), c." + column + ")"
	}
	s.Add("INSERT INTO ", p.Table, " (outbox, unit, owner, token, expires_at, info) SELECT n.* FROM (SELECT ",
		s.Arg(p.Outbox), " AS outbox, r.unit, ",
		s.Arg(c.Owner), " AS owner, ", s.Arg(c.Token), " AS token, ", s.Syntax.Later(s.Arg(c.TTL.Milliseconds())),
		" AS expires_at, r.info FROM ",
		s.Rows("r", claims.ShardFields, claims.JSONShards(shards)), " ORDER BY r.unit) n ON DUPLICATE KEY UPDATE ",
		strings.ReplaceAll(strings.Join([]string{free("owner"), free("token"), free("info"), free("expires_at")},
			", "), "c.", p.Table+"."))
}

func (Claims) mine(s *statement.Statement, p claims.Place, c claims.Claim, names []string) {
	s.Add("SELECT unit FROM ", p.Table, " WHERE outbox = ", s.Arg(p.Outbox), " AND owner = ", s.Arg(c.Owner),
		" AND token = ", s.Arg(c.Token),
		" AND expires_at > ", s.Syntax.Now(), " AND ", s.Syntax.AnyText(s, "unit", names))
}

// mineLive is mine together with the lock of the member's row. Those of the shards are locked already, by the INSERT,
// whoever has them.
func (d Claims) mineLive(s *statement.Statement, p claims.Place, c claims.Claim, names []string, member string) {
	_, suffix := s.Syntax.Lock(false)
	d.ByName(s, p, "SELECT", nil, append(names, member))
	s.Add(" AND c.owner = ", s.Arg(c.Owner), " AND (c.token = ", s.Arg(c.Token), " OR c.unit = ", s.Arg(member),
		") AND c.expires_at > ", s.Syntax.Now(),
		" ORDER BY c.unit", suffix)
}

// Put writes one upsert. VALUES(column) is the one form for the new values that both MySQL and MariaDB know.
func (Claims) Put(p claims.Place, c claims.Claim, what claims.Shard) []claims.Step {
	return []claims.Step{{Write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.Table, " (outbox, unit, owner, token, expires_at, info) VALUES (", s.Arg(p.Outbox),
			", ", s.Arg(what.Name), ", ",
			s.Arg(c.Owner), ", ", s.Arg(c.Token), ", ", s.Syntax.Later(s.Arg(c.TTL.Milliseconds())), ", ", s.Arg(what.Info), ")",
			" ON DUPLICATE KEY UPDATE owner = VALUES(owner), token = VALUES(token), expires_at = VALUES(expires_at), info = VALUES(info)")
	}}}
}

// Conflict is always false: ON DUPLICATE KEY UPDATE takes the place of an error for a row that is there already.
func (Claims) Conflict(error) bool { return false }

// InTx is true: Draw and Take read back what they wrote.
func (Claims) InTx() bool { return true }

// Late is true: the server may still carry out a statement after its connection was lost.
func (Claims) Late() bool { return true }

// ByName reads the list first and seeks each shard's row: the optimizer may take a list in IN for a reason to scan.
func (Claims) ByName(s *statement.Statement, p claims.Place, verb string, set func() string, names []string) {
	from := func() {
		s.Add(s.Rows("r", claims.ShardFields, claims.JSONShards(claims.Named(names))), " STRAIGHT_JOIN ", p.Table,
			" c ON c.outbox = ", s.Arg(p.Outbox),
			" AND c.unit = r.unit ", Exact)
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

// Ddl creates the claims table with a collation that compares keys byte by byte.
func (Claims) Ddl(claims statement.Name) string {
	return `CREATE TABLE IF NOT EXISTS ` + claims.String() + ` (
    outbox varchar(190) NOT NULL,
    unit varchar(255) NOT NULL,
    owner varchar(255) NOT NULL,
    token bigint NOT NULL,
    expires_at datetime(6) NOT NULL,
    info varchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 ` + Exact
}
