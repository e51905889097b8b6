package mysql

import (
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/rowrelay/rowrelay/engine"
)

// Classify follows the error references of MySQL 8 and MariaDB.
func (Dialect) Classify(err error) engine.Fault {
	var e *mysql.MySQLError
	switch {
	case errors.As(err, &e) && e.Number == preventedByOption && strings.Contains(e.Message, "read-only"):
		return engine.FaultReadOnly
	case errors.As(err, &e):
		return faultOf(e.Number)
	case errors.Is(err, engine.ErrSchemaChanged):
		return engine.FaultSchema
	case errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrPktSync),
		errors.Is(err, driver.ErrBadConn):
		return engine.FaultTransient
	}
	return engine.FaultOther
}

// preventedByOption is ER_OPTION_PREVENTS_STATEMENT, of --read-only, --super-read-only and others.
const preventedByOption = 1290

// deadlock is ER_LOCK_DEADLOCK. changedSince is ER_CHECKREAD: MariaDB with innodb_snapshot_isolation, the default since
// 11.6.2, waits for no row that another transaction has changed.
const deadlock, changedSince = 1213, 1020

func faultOf(number uint16) engine.Fault {
	switch number {
	case deadlock, changedSince,
		1040, 1203, 1226, 1041, 1037, 1038, // too many connections, resources
		1053, 1077, 1079, 1080, 1927, 1317, // shutting down, killed
		1047,                                     // Galera: the node is not ready
		1158, 1159, 1160, 1161, 1184, 1152, 1105, // connection aborted; unknown, which proxies use for a lost backend
		2003, 2006, 2013, 2055, 4031, 1836, 1792: // lost, idle too long
		return engine.FaultTransient
	case 1205, 3572: // lock wait, NOWAIT
		return engine.FaultLocked
	case 3024, 1969: // max_execution_time, max_statement_time
		return engine.FaultTimeout
	case encryptedOnly, 1044, 1045, 1049, 1130, 1698, 1251, 1820, 1862, 3118, 3955, 4151, 1129, 2059:
		return engine.FaultLogin
	case 1142, 1143, 1227, 1370, 1345, 1419:
		return engine.FaultDenied
	case 1146, 1054, 1051, 1109, 1176, 1356, 1305, 1630, 1932:
		return engine.FaultSchema
	case 1064, 1248, 1060, 1052, 1055, 1056, 1111, 1140, 1222, 1241, 1242, 1267, 1270, 1271, 1463, 1582, 1583, 1149:
		return engine.FaultSyntax
	case 1022, 1048, 1062, 1169, 1216, 1217, 1364, 1451, 1452, 1557, 1586, 1761, 3819, 4025, // a constraint
		1644,                                           // SIGNAL of a trigger
		1264, 1265, 1292, 1366, 1406, 1411, 3140, 3156: // a value that its column does not take
		return engine.FaultConstraint
	}
	return engine.FaultOther
}

// Deadlock reports whether the server ended a transaction, and undid all of it, because it met another in a deadlock.
func Deadlock(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == deadlock
}
