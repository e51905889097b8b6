package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rowrelay/rowrelay/engine"
)

// sqlState reports whether err is PostgreSQL's with one of the codes (five characters) or classes (two).
func sqlState(err error, codes ...string) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	for _, code := range codes {
		if strings.HasPrefix(pg.Code, code) {
			return true
		}
	}
	return false
}

// Classify follows the error codes of PostgreSQL's manual, appendix A.
func (Dialect) Classify(err error) engine.Fault {
	var connect *pgconn.ConnectError
	switch {
	case errors.Is(err, engine.ErrSchemaChanged):
		return engine.FaultSchema
	case sqlState(err, "57014"): // query_canceled: statement_timeout
		return engine.FaultTimeout
	case sqlState(err, "55P03"): // lock_not_available: lock_timeout
		return engine.FaultLocked
	case errors.As(err, &connect) && sqlState(err, "22023", "42704", "55P02"): // of a parameter of the connection
		return engine.FaultParameter
	case sqlState(err, "28", "3D000"), errors.As(err, &connect) && sqlState(err, "42501"): // no CONNECT on the database
		return engine.FaultLogin
	case sqlState(err, "42501"):
		return engine.FaultDenied
	case sqlState(err, "42P01", "42703", "42704", "3F000", "42883"):
		return engine.FaultSchema
	case sqlState(err, "0A000") && strings.Contains(err.Error(), "cached plan must not change"):
		return engine.FaultTransient // the table was altered: the driver has dropped the statement, and prepares it anew
	case sqlState(err, "42"):
		return engine.FaultSyntax
	case sqlState(err, "22"):
		return engine.FaultData
	case sqlState(err, "23", "44000", "P0001"): // integrity constraint, WITH CHECK OPTION, RAISE EXCEPTION of a trigger
		return engine.FaultConstraint
	case sqlState(err, "25006"): // a standby, or default_transaction_read_only
		return engine.FaultReadOnly
	case sqlState(err, "08P01") && strings.Contains(err.Error(), "statement pooling mode"): // PgBouncer's
		return engine.FaultPooler
	case sqlState(err, "08", "25P03", "40", "53", "57P", "58"): // 25P03: we were frozen in a transaction
		return engine.FaultTransient
	case errors.As(err, &connect) && errors.Is(err, context.DeadlineExceeded):
		return engine.FaultConnect
	case errors.As(err, &connect):
		return engine.FaultOther // what it wraps decides: a refused connection is transient, an unknown host is not
	case pgconn.SafeToRetry(err):
		return engine.FaultTransient
	}
	return engine.FaultOther
}

// Deadlock reports whether the server ended a transaction, and undid all of it, because it met another in a deadlock.
func Deadlock(err error) bool { return sqlState(err, "40P01") }

// noRight are the codes of functions that some servers do not have, and some roles may not call.
func noRight(err error) bool { return sqlState(err, "42501", "42883", "0A000", "55000") }
