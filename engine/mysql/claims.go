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

// Take inserts or replaces the claims in one statement, and reads back which of them are the owner's under this token.
func (d Claims) Take(p claims.Place, c claims.Claim, units []string) []claims.Step {
	return []claims.Step{
		{Write: func(s *statement.Statement) { d.insert(s, p, c, units) }},
		{Shows: true, Write: func(s *statement.Statement) { d.mine(s, p, c, units) }},
	}
}

// insert makes its assignments from left to right: what decides is expires_at, which comes last, and owner, which is
// the new one where the row is free.
func (Claims) insert(s *statement.Statement, p claims.Place, c claims.Claim, units []string) {
	free := func(column string) string {
		return column + " = IF(c.expires_at <= " + s.Syntax.Now() + " OR c.owner = VALUES(owner), VALUES(" + column +
			"), c." + column + ")"
	}
	s.Add("INSERT INTO ", p.Table, " (outbox, unit, owner, token, expires_at) SELECT n.* FROM (SELECT ",
		s.Arg(p.Outbox), " AS outbox, r.unit, ",
		s.Arg(c.Owner), " AS owner, ", s.Arg(c.Token), " AS token, ", s.Syntax.Later(s.Arg(c.TTL.Milliseconds())),
		" AS expires_at FROM ", claims.Units(s, "r", units), " ORDER BY r.unit) n ON DUPLICATE KEY UPDATE ",
		strings.ReplaceAll(strings.Join([]string{free("owner"), free("token"), free("expires_at")}, ", "), "c.",
			p.Table+"."))
}

func (Claims) mine(s *statement.Statement, p claims.Place, c claims.Claim, units []string) {
	s.Add("SELECT unit FROM ", p.Table, " WHERE outbox = ", s.Arg(p.Outbox), " AND owner = ", s.Arg(c.Owner),
		" AND token = ", s.Arg(c.Token), " AND ", s.Syntax.AnyText(s, "unit", units))
}

// Conflict is always false: ON DUPLICATE KEY UPDATE takes the place of an error for a row that is there already.
func (Claims) Conflict(error) bool { return false }

// ByName reads the list first and seeks each unit's row: the optimizer may take a list in IN for a reason to scan.
func (Claims) ByName(s *statement.Statement, p claims.Place, verb string, set func() string, units []string) {
	from := func() {
		s.Add(claims.Units(s, "r", units), " STRAIGHT_JOIN ", p.Table,
			" c ON c.outbox = ", s.Arg(p.Outbox),
			" AND c.unit = r.unit ", exact)
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
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 ` + exact
}
