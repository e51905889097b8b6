package sqlserver

import (
	"errors"
	"io"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/engine"
)

// notOpened says that the login's database cannot be opened.
const notOpened = 4060

// errorOf finds SQL Server's error in a chain.
func errorOf(err error) (mssql.Error, bool) {
	var e mssql.Error
	found := errors.As(err, &e)
	return e, found
}

func hasNumber(err error, number int32) bool {
	e, ok := errorOf(err)
	return ok && e.Number == number
}

// Classify follows Microsoft's lists of transient errors for SQL Server and Azure SQL.
func (Dialect) Classify(err error) engine.Fault {
	var auth *azidentity.AuthenticationFailedError
	var stream mssql.StreamError
	if e, ok := errorOf(err); ok {
		kind := faultOf(e.Number)
		for _, earlier := range e.All {
			// The last error may say only what follows from it: a login fails (18456) because the database cannot be opened
			// (4060).
			if faultOf(earlier.Number) == engine.FaultTransient {
				return engine.FaultTransient
			}
		}
		if kind == engine.FaultOther && e.Class >= 20 {
			return engine.FaultTransient // a severity that ends the connection
		}
		return kind
	}
	switch {
	case errors.Is(err, engine.ErrSchemaChanged):
		return engine.FaultSchema
	case errors.As(err, &auth):
		return engine.FaultLogin
	case errors.As(err, &stream), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return engine.FaultTransient
	}
	return engine.FaultOther
}

// Deadlock reports whether the server ended a transaction, and undid all of it, because it met another in a deadlock.
func Deadlock(err error) bool {
	e, ok := errorOf(err)
	return ok && e.Number == deadlock
}

// deadlock says that the transaction was chosen as the victim.
const deadlock = 1205

func faultOf(number int32) engine.Fault {
	switch number {
	case deadlock,
		3960, 3961, // snapshot conflict, schema changed under snapshot
		10928, 10929, 10930, 10936, 40549, 40550, // Azure SQL: resource limits, a session ended for them
		40197, 40501, 40540, 40143, 40613, // Azure SQL: processing error, busy, reconfiguration, unavailable
		49918, 49919, 49920, // Azure SQL: not enough resources
		4221, // login to a secondary timed out
		// the database cannot be opened: starting, recovering, failing over, being restored
		notOpened, 921, 922, 926, 927, 941,
		601, 617, 669, // data moved under the scan
		42108, 42109, // a dedicated SQL pool that is paused or warming up
		978, 983, 976, 988, 3966, // availability group: not readable at the moment
		615, 9001, 9002, 701, 802, 8645, 8651, // log or memory not available
		10053, 10054, 10060, 10061, 233, 64, 121, 20, // connection lost, as the server or a gateway says it
		18401, 17197, 17142, 6005, 6006, // starting, paused, shutting down
		1203, 1204, 1221, // locks
		41301, 41302, 41305, 41325, 41839: // memory-optimised tables: dependency and validation
		return engine.FaultTransient
	case -2:
		return engine.FaultTimeout
	case 1222:
		return engine.FaultLocked
	case 3952, 41332: // snapshot isolation is not allowed in another database, nor for memory-optimised tables
		return engine.FaultVersions
	case 3906: // the database is read-only
		return engine.FaultReadOnly
	case 18456, 18452, 18470, 18486, 18487, 18488, 4064, 40532, 40615, 40914, 33134, 916, 47073, 47089:
		return engine.FaultLogin
	case 229, 230, 297, 300, 371, 15247, 15562:
		return engine.FaultDenied
	case 208, 207, 4121, 2812, 942, 911, 4104, 8155, 4413, 4502,
		22105: // change tracking is off for the table
		return engine.FaultSchema
	case 102, 105, 103, 111, 113, 116, 137, 145, 156, 170, 209, 319, 1033, 4145, 8114, 8115, 8120, 8156, 8158, 10743,
		11512,
		195, 241, 245, 402, 306:
		return engine.FaultSyntax
	case 515, 547, 2601, 2627, 550, // a constraint, WITH CHECK OPTION
		220, 242, 248, 2628, 8152: // a value that its column does not take
		return engine.FaultConstraint
	}
	return engine.FaultOther
}

// unopened is what else a server's refusal to open the database may mean than that it is not up yet.
func unopened(err error) string {
	e, ok := errorOf(err)
	not := func(e mssql.Error) bool { return e.Number == notOpened }
	if ok && (not(e) || slices.ContainsFunc(e.All, not)) {
		return ", or the database does not exist, or the login has no user in it"
	}
	return ""
}
