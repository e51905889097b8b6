package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/poller"
)

// errSchemaChanged is how a dialect reports that a result no longer has the types that the plan was made for.
var errSchemaChanged = errors.New("the columns' types changed since they were read from the catalog")

// explain says what an error means and what to do about it. The driver's own text is kept: drivers name user, host and
// database in it, never the password.
func (c *Cursor) explain(ctx context.Context, kind fault, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	where := c.name()
	if untrusted(err) {
		return fmt.Errorf("%w: %s: %w", poller.ErrConfig, where, err) // verifiedConnector has said the mend
	}
	switch kind {
	case faultTimeout:
		return fmt.Errorf("%s: a statement took longer than source__timeout (%v): make an index serve the order (see `rowrelay check`), "+
			"or raise source__timeout: %w", where, c.cfg.Timeout, err)
	case faultLocked:
		return fmt.Errorf("%s: an open transaction kept rows or the table locked for source__timeout (%v): keep transactions shorter%s: %w",
			where, c.cfg.Timeout, c.unlock(), err)
	case faultSchema:
		return fmt.Errorf("%w: %s: the database does not know a name in source__table, source__query, source__where or source__columns: "+
			"correct it, or create what is missing: %w", poller.ErrConfig, where, err)
	case faultSyntax:
		return fmt.Errorf("%w: %s: the statement does not parse: correct source__where or source__query (`rowrelay check` shows the statement): %w",
			poller.ErrConfig, where, err)
	case faultLogin:
		return fmt.Errorf("%w: %s: the database refused the login: correct user, password or database in the setting that source__connection names: %w",
			poller.ErrConfig, where, err)
	case faultDenied:
		return fmt.Errorf("%w: %s: the user may not read it: GRANT SELECT on it to the user of source__connection: %w", poller.ErrConfig, where, err)
	case faultMissing:
		return fmt.Errorf("%w: %s: the server or file cannot be found: correct host, port or path in the setting that source__connection names: %w",
			poller.ErrConfig, where, err)
	case faultBusy:
		return fmt.Errorf("%s: all %d connections (source__connections) are busy, and none became free within source__timeout (%v): "+
			"raise source__connections, or stagger the outputs: %w", where, c.cfg.Connections, c.cfg.Timeout, err)
	case faultConnect:
		return fmt.Errorf("%s: cannot connect within source__timeout (%v): %s: %w", where, c.cfg.Timeout, c.reach(), err)
	case faultTransient:
		if errors.Is(err, errConnect) {
			return fmt.Errorf("%s: cannot connect after %d attempts; the next tick tries again: %s%s: %w", where, tries, c.reach(), unopened(err), err)
		}
		return fmt.Errorf("%s: still failing after %d attempts; the next tick tries again: %w", where, tries, err)
	default:
		return fmt.Errorf("%s: %w", where, err)
	}
}

// reach is the mend where no connection comes about.
func (c *Cursor) reach() string {
	if c.dialect.engine() == engineSQLite {
		return "check that the file can be read, and that no other program keeps it locked"
	}
	return "check host, port and firewall, and the setting that source__connection names"
}

// unopened is what else a server's refusal to open the database may mean than that it is not up yet.
func unopened(err error) string {
	e, ok := sqlServerError(err)
	not := func(e mssql.Error) bool { return e.Number == sqlServerNotOpened }
	if ok && (not(e) || slices.ContainsFunc(e.All, not)) {
		return ", or the database does not exist, or the login has no user in it"
	}
	return ""
}

// unlock is the other mend where reads can wait for rows, which is where the engine can be told to read row versions.
func (c *Cursor) unlock() string {
	if c.dialect.engine() == engineSQLServer {
		return ", or let reads not wait for them: " + readVersions
	}
	return ""
}

// name is the source for messages.
func (c *Cursor) name() string {
	if c.cfg.Query != "" {
		return c.dialect.engine() + " query"
	}
	return c.dialect.engine() + " " + c.cfg.Table
}

// untrusted reports a certificate that could not be verified. The drivers do not all keep the error's type.
func untrusted(err error) bool { return strings.Contains(err.Error(), "x509:") }
