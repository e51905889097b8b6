package publisher

import (
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// DDL returns the statements, in order, that create an outbox and its claims table on an engine. Each may be
// repeated: what is there already stays as it is. table and claims are named as the settings source__table and
// source__claims_table do; errors wrap poller.ErrConfig.
//
// The application's INSERT names aggregate_type, aggregate_id, event_type, payload and idempotency_key, and
// traceparent and tracestate where it has them; everything else is the outbox' own.
func DDL(engine, table, claims string) ([]string, error) {
	e, outbox, beside, err := tablesOf(engine, table, claims)
	if err != nil {
		return nil, err
	}
	return rows.DDLOf(e.rows, outbox, e.claims.Ddl(beside)), nil
}

// MappedDDL returns the statements that create what a mapped table (source__map__…) needs beside it on an engine: the
// claims table, and the table of failed events. Each may be repeated. Nothing of the user's is touched. claims is
// named as source__claims_table; outbox as source__table, in whose schema they lie unless claims names its own.
// Errors wrap poller.ErrConfig.
func MappedDDL(engine, outbox, claims string) ([]string, error) {
	e, _, beside, err := tablesOf(engine, outbox, claims)
	if err != nil {
		return nil, err
	}
	return append([]string{e.claims.Ddl(beside)}, e.values.Ddl(rows.SideOf(beside), rows.SideStates)...), nil
}

// tablesOf reads the names of an outbox and of its claims table, as source__table and source__claims_table write
// them.
func tablesOf(engineName, table, claims string) (e texts, outbox, beside statement.Name, err error) {
	e, ok := textsOf[engineName]
	if !ok {
		return e, outbox, beside, fmt.Errorf("%w: no outbox on engine %q", poller.ErrConfig, engineName)
	}
	if outbox, err = e.parseName("source__table", table); err != nil {
		return e, outbox, beside, err
	}
	if beside, err = e.parseName("source__claims_table", claims); err != nil {
		return e, outbox, beside, err
	}
	return e, outbox, outbox.Beside(beside), nil
}

func (e *texts) parseName(setting, text string) (statement.Name, error) {
	parts, err := engine.SplitName(text)
	if err != nil {
		return statement.Name{}, fmt.Errorf("%w: %s %q is not the name of a table: %w", poller.ErrConfig, setting,
			text, err)
	}
	return statement.NewName(e.syntax, parts...), nil
}
