package pool

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
)

// explain says what an error means and what to do about it. The driver's own text is kept: drivers name user, host and
// database in it, never the password.
func (sh *Share) explain(ctx context.Context, kind engine.Fault, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	where := sh.name
	if engine.Untrusted(err) {
		return fmt.Errorf("%w: %s: %w", poller.ErrConfig, where, err) // engine.Verified has said the remedy
	}
	switch kind {
	case engine.FaultTimeout:
		if errors.Is(err, context.DeadlineExceeded) { // PostgreSQL and MySQL would have said that it takes too long
			return fmt.Errorf("%s: no answer within source__timeout (%v): check the network and the server; where `rowrelay check` succeeds, "+
				"make an index serve the order, or raise source__timeout: %w", where, sh.timeout, err)
		}
		return fmt.Errorf("%s: a statement took longer than source__timeout (%v), or the server cancelled it sooner: make an index serve "+
			"the order (see `rowrelay check`), raise source__timeout, or look at what the server limits: %w", where, sh.timeout, err)
	case engine.FaultLocked:
		unlock := ""
		if way := sh.dialect.Syntax().Advice.Unlock; way != "" {
			unlock = ", or let reads not wait for them: " + way
		}
		return fmt.Errorf("%s: an open transaction kept rows or the table locked for source__timeout (%v): keep transactions shorter%s: %w",
			where, sh.timeout, unlock, err)
	case engine.FaultSchema:
		return fmt.Errorf("%w: %s: the database does not know a name in source__table, source__query, source__where or source__columns: "+
			"correct it, or create what is missing: %w", poller.ErrConfig, where, err)
	case engine.FaultSyntax:
		return fmt.Errorf("%w: %s: the statement does not parse: correct source__where or source__query (`rowrelay check` shows the statement): %w",
			poller.ErrConfig, where, err)
	case engine.FaultLogin:
		return fmt.Errorf("%w: %s: the database refused the login: correct user, password or database in the setting that source__connection names: %w",
			poller.ErrLogin, where, err)
	case engine.FaultParameter:
		return fmt.Errorf("%w: %s: the database refuses a parameter of the connection string: correct it, or take it out of the setting that "+
			"source__connection names: %w", poller.ErrConfig, where, err)
	case engine.FaultPooler:
		return fmt.Errorf("%w: %s: %s: %w", poller.ErrConfig, where, engine.AskPooler, err)
	case engine.FaultDenied:
		return fmt.Errorf("%w: %s: the user may not read it: GRANT SELECT on it to the user of source__connection: %w",
			poller.ErrConfig, where, err)
	case engine.FaultMissing:
		return fmt.Errorf("%w: %s: %s: %w", poller.ErrConfig, where, engine.AskFile, err)
	case engine.FaultUnresolved:
		return fmt.Errorf("%s: the server's name has no address: look at DNS and the network, or correct the host in the setting "+
			"that source__connection names: %w", where, err)
	case engine.FaultBusy:
		if errors.Is(err, errCrowded) {
			return fmt.Errorf("%s: all %d connections that the pollers of this database share are busy, and none became free within "+
				"source__timeout (%v): stagger the schedules, or set source__connections of one of them to more than %[2]d: %[4]w", where,
				cap(sh.pool.slots), sh.timeout, err)
		}
		return fmt.Errorf("%s: all %d connections (source__connections) are busy, and none became free within source__timeout (%v): "+
			"raise source__connections, or stagger the outputs: %w", where, cap(sh.slots), sh.timeout, err)
	case engine.FaultConnect:
		return fmt.Errorf("%s: cannot connect in time: %s: %w", where, sh.dialect.Syntax().Advice.Reach, err)
	case engine.FaultTransient:
		if errors.Is(err, errConnect) {
			return fmt.Errorf("%s: cannot connect after %d attempts; the next tick tries again: %s%s: %w", where, tries,
				sh.dialect.Syntax().Advice.Reach, sh.unopened(err), err)
		}
		return fmt.Errorf("%s: still failing after %d attempts; the next tick tries again: %w", where, tries, err)
	default:
		return fmt.Errorf("%s: %w", where, err)
	}
}

// unopened is what else a server's refusal to open the database may mean than that it is not up yet.
func (sh *Share) unopened(err error) string {
	if means := sh.dialect.Syntax().Advice.Unopened; means != nil {
		return means(err)
	}
	return ""
}
