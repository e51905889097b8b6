package mysql

// Conn is mysqlConn for the tests that import what imports this package.
var Conn = mysqlConn
