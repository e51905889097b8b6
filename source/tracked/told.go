package tracked

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// Told is what the engine says of its tracking.
type Told struct {
	Head, Floor []byte // versions: how far it has come, and up to which changes may be missing
	Table       string // identifies the table, and the life of its tracking
}

// ParseTold reads what a page, or Tell, was told. Where nothing is tracked any more the catalog has to be asked again:
// it says why.
func ParseTold(text string) (Told, error) {
	parts := strings.Split(text, "|")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return Told{}, fmt.Errorf("%w: the server told of its change tracking %q", engine.ErrSchemaChanged, text)
	}
	var t Told
	for i, into := range []*[]byte{&t.Head, &t.Floor} {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			return Told{}, fmt.Errorf("%w: the server told of its change tracking %q", engine.ErrSchemaChanged, text)
		}
		*into = change.AppendInt(nil, n)
	}
	t.Table = parts[2]
	return t, nil
}

// Tell asks the engine alone.
func (t Table) Tell(ctx context.Context, conn *sql.Conn) (Told, error) {
	return tell(ctx, conn, t.Plan.BuiltIn(), t.Plan.Table.Changes)
}

func tell(ctx context.Context, conn *sql.Conn, b *engine.BuiltIn, changes *engine.ChangeTable) (Told, error) {
	var text string
	if err := conn.QueryRowContext(ctx, b.Tell(changes)).Scan(&text); err != nil {
		return Told{}, fmt.Errorf("read how far changes are tracked: %w", err)
	}
	return ParseTold(text)
}

// InTransaction has a chunk read in the transaction of a page of changes, where the engine tracks them itself: a row
// and the version of its last change are seen by one snapshot, and no reader waits for a writer.
func InTransaction(p *plan.Plan, told *string) []keyset.Condition {
	if p.BuiltIn() == nil {
		return nil
	}
	return []keyset.Condition{func(b *keyset.Builder, _ *keyset.Selection) {
		transact(b, p, 0, -1, told)
		b.Add("1 = 1")
	}}
}

// KeysInTransaction is InTransaction for rows that are read by their keys. One statement sees them and their versions
// together, but where it sees no snapshot: then it has to know how far the engine had come before.
func KeysInTransaction(p *plan.Plan) []keyset.Condition {
	if p.BuiltIn() == nil || !p.Table.Changes.ReadCommitted {
		return nil
	}
	return InTransaction(p, new(string))
}

// transact puts the transaction of a page around a statement. What the engine tells comes into told.
func transact(b *keyset.Builder, p *plan.Plan, since, read int64, told *string) {
	own := p.BuiltIn()
	in := func(name string, value any) { // they are named in the texts around
		b.Own(engine.Column{Name: name, Type: p.Sel.Columns[p.Tracked.Version].Type}, sql.Named(name, value))
	}
	in(own.Since, since)
	in(own.Read, read)
	b.Own(engine.Column{Name: own.Told, Type: "nvarchar(max) OUTPUT"}, sql.Named(own.Told, sql.Out{Dest: told}))
	b.Before, b.After = own.Before(p.Table.Changes), own.After(p.Table.Changes)
}

// numberOf is a version as a number: 0 for none, which is before every other.
func numberOf(version []byte) int64 {
	n, err := strconv.ParseInt(strings.Trim(string(version), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
