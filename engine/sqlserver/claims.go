package sqlserver

import (
	"errors"
	"strings"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
)

// Claims is how SQL Server writes claims: by plain statements, an UPDATE of the rows that are there, an INSERT of
// those that are not, and both again where somebody else was there in between, which the primary key tells. MERGE
// would need HOLDLOCK for that, and keep the places of rows that are not there, and their neighbours', locked until the
// transaction ends.
type Claims struct{}

// Draw counts the token up by an UPDATE. The INSERT after it makes the row where there was none to count.
func (Claims) Draw(p claims.Place) []claims.Step {
	return []claims.Step{{Shows: true, Write: func(s *statement.Statement) {
		s.Add("UPDATE ", p.Table, " WITH (ROWLOCK) SET token = token + 1 OUTPUT inserted.token WHERE outbox = ",
			s.Arg(p.Outbox), " AND unit = '*'")
	}}, {Shows: true, Write: func(s *statement.Statement) {
		s.Add("INSERT INTO ", p.Table, " (outbox, unit, owner, token, expires_at) OUTPUT inserted.token VALUES (",
			s.Arg(p.Outbox), ", '*', '', 1, ", s.Syntax.Now(), ")")
	}}}
}

// Take inserts first, where no row is there.
func (d Claims) Take(p claims.Place, c claims.Claim, units []string) []claims.Step {
	return []claims.Step{
		{Shows: true, Write: func(s *statement.Statement) { d.insert(s, p, c, units) }},
		{Shows: true, Write: func(s *statement.Statement) { d.takeOver(s, p, c, units) }},
	}
}

// insert makes the claims that are not there.
func (Claims) insert(s *statement.Statement, p claims.Place, c claims.Claim, units []string) {
	outbox := s.Arg(p.Outbox)
	s.Add("INSERT INTO ", p.Table, " (outbox, unit, owner, token, expires_at) OUTPUT inserted.unit SELECT ",
		outbox, ", r.unit, ", s.Arg(c.Owner),
		", ", s.Arg(int64(c.Token)), ", ", s.Syntax.Later(s.Arg(c.TTL.Milliseconds())), " FROM ", claims.Units(s, "r", units), //nolint:gosec // tokens count up from 1
		" WHERE NOT EXISTS (SELECT 1 FROM ", p.Table, " AS c WHERE c.outbox = ", outbox, " AND c.unit = r.unit", exact, ")")
}

// takeOver replaces the claims that have ended, or are the owner's.
func (Claims) takeOver(s *statement.Statement, p claims.Place, c claims.Claim, units []string) {
	owner := s.Arg(c.Owner)
	s.Add("UPDATE c SET owner = ", owner, ", token = ", s.Arg(int64(c.Token)), ", expires_at = ", //nolint:gosec // as above
		s.Syntax.Later(s.Arg(c.TTL.Milliseconds())), " OUTPUT inserted.unit FROM ", claims.Units(s, "r", units),
		" INNER LOOP JOIN ", p.Table, " AS c WITH (ROWLOCK) ON c.unit = r.unit", exact,
		" WHERE c.outbox = ", s.Arg(p.Outbox), " AND (c.expires_at <= ", s.Syntax.Now(), " OR c.owner = ", owner, ")")
}

// Numbers of the errors for a row that is there already: a primary key or unique constraint, a unique index.
const (
	DuplicateKey   = 2627
	duplicateIndex = 2601
)

// Conflict reports whether the INSERT found its row there already: error 2627 or 2601.
func (Claims) Conflict(err error) bool {
	var numbered interface{ SQLErrorNumber() int32 }
	if !errors.As(err, &numbered) {
		return false
	}
	n := numbered.SQLErrorNumber()
	return n == DuplicateKey || n == duplicateIndex
}

// ByName reads the list first and seeks each unit's row.
func (Claims) ByName(s *statement.Statement, p claims.Place, verb string, set func() string, units []string) {
	hint, _ := s.Syntax.Lock("", false)
	switch verb {
	case "SELECT":
		s.Add("SELECT c.unit")
	case "DELETE":
		s.Add("DELETE c")
	default:
		s.Add("UPDATE c SET ", set())
	}
	s.Add(" FROM ", claims.Units(s, "r", units), " INNER LOOP JOIN ", p.Table, " AS c", hint,
		" ON c.unit = r.unit", exact, " WHERE c.outbox = ", s.Arg(p.Outbox))
}

// Ddl creates the claims table with a collation that compares keys by code units.
func (Claims) Ddl(claims statement.Name) string {
	return `IF OBJECT_ID(` + TextLiteral(claims.String()) + `) IS NULL
CREATE TABLE ` + claims.String() + ` (
    outbox nvarchar(190)` + exact + ` NOT NULL,
    unit nvarchar(255)` + exact + ` NOT NULL,
    owner nvarchar(255)` + exact + ` NOT NULL,
    token bigint NOT NULL,
    expires_at datetime2(6) NOT NULL,
    info nvarchar(1000) NULL,
    PRIMARY KEY (outbox, unit)
)`
}

// TextLiteral writes a text as a literal.
func TextLiteral(text string) string { return "N'" + strings.ReplaceAll(text, "'", "''") + "'" }
