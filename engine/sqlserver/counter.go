package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver/tsql"
)

// identitySQL reads an identity that goes up. An identity that is not for replication is not raised by what
// replication writes. %s is the quoted database and a dot, or nothing.
const identitySQL = `SELECT CAST(IDENT_CURRENT(@p1) AS nvarchar(40)), CAST(COALESCE(i.is_not_for_replication, 0) AS bit)
FROM %ssys.identity_columns AS i
WHERE i.object_id = OBJECT_ID(@p1) AND i.name = @p2 AND CAST(i.increment_value AS numeric(38)) > 0`

// rowVersionSQL reads the last rowversion that the database gave out.
const rowVersionSQL = "SELECT CAST(@@DBTS AS binary(8))"

// Counter reads IDENT_CURRENT or @@DBTS. An identity is raised by values that are written explicitly.
func (d Dialect) Counter(ctx context.Context, conn *sql.Conn, t *engine.Table, col *engine.Column) (engine.Counter,
	error) {
	if col.Value.Kind == engine.KindRowVersion {
		var last []byte
		if t.Foreign {
			return engine.Counter{}, nil // @@DBTS is the connection's database's
		}
		if err := conn.QueryRowContext(ctx, rowVersionSQL).Scan(&last); err != nil {
			return engine.Counter{}, fmt.Errorf("read @@DBTS: %w", err)
		}
		return engine.Counter{Name: "@@DBTS", Highest: new(big.Int).SetBytes(last).String()}, nil
	}
	parts, err := engine.SplitName(t.From)
	if err != nil {
		return engine.Counter{}, err
	}
	database := ""
	if len(parts) == 3 {
		database = tsql.Quote(parts[0]) + "."
	}
	var last sql.NullString
	n := engine.Counter{Name: "IDENT_CURRENT of " + t.Name}
	err = conn.QueryRowContext(ctx, engine.Fill(identitySQL, database), t.From, col.Name).Scan(&last, &n.Loose)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return engine.Counter{}, fmt.Errorf("read IDENT_CURRENT: %w", err)
	}
	n.Highest = last.String
	return n, nil
}
