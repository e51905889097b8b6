package inspect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
)

// Tables lists the tables that a poller stands for, within timeout: those that source__tables means and that have a
// cursor and a key. Rowrelay's own are never meant.
func Tables(ctx context.Context, p *config.Poller, timeout time.Duration) (config.Found, error) {
	var found config.Found
	conn, err := ConnectionOf(&p.Source.Connection)
	if err != nil {
		return found, err
	}
	lister, ok := conn.Dialect.(engine.Lister)
	if !ok {
		return found, errors.New("the engine cannot list tables")
	}
	err = inCatalog(ctx, conn, timeout, func(ctx context.Context, c *sql.Conn) error {
		all, err := lister.Tables(ctx, c)
		if err != nil {
			return err
		}
		for _, name := range all {
			if !p.Source.Matching.Match(name.Schema, name.Name, name.Current) || isOwn(name.Name) {
				continue
			}
			t, err := conn.Dialect.Table(ctx, c, []string{name.Schema, name.Name})
			if errors.Is(err, engine.ErrNoTable) {
				continue // it went meanwhile
			}
			if err != nil {
				return fmt.Errorf("read the catalog of %s.%s: %w", name.Schema, name.Name, err)
			}
			written := engine.QuotedName([]string{name.Schema, name.Name}, quoteOdd)
			if lack := lackOf(&t, &p.Source); lack != "" {
				found.Out = append(found.Out, written+" ("+lack+")")
				continue
			}
			found.Tables = append(found.Tables, config.Table{Schema: name.Schema, Name: name.Name, Written: written})
		}
		return nil
	})
	return found, err
}

// isOwn reports whether a table is one of ours: of state, of changes, of claims.
func isOwn(table string) bool { return strings.HasPrefix(strings.ToLower(table), "rowrelay_") }

// lackOf says what a table lacks to be watched; "" for nothing.
func lackOf(t *engine.Table, src *config.Source) string {
	for _, name := range slices.Concat(src.Cursor, src.Key) {
		if !slices.ContainsFunc(t.Columns, func(c engine.Column) bool { return strings.EqualFold(c.Name, name) }) {
			return "no column " + name
		}
	}
	if len(src.Key) == 0 && len(t.PrimaryKey) == 0 {
		return "no primary key"
	}
	return ""
}

// quoteOdd quotes a part of a name that would be read otherwise.
func quoteOdd(part string) string {
	if part == strings.TrimSpace(part) && !strings.ContainsAny(part, ".\"[]`,") {
		return part
	}
	return `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
}
