package source

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/poller"
)

// The engines, as Connection.Engine and Description.Engine name them.
const (
	engineSQLServer = dsn.SQLServer
	enginePostgres  = dsn.Postgres
	engineMySQL     = dsn.MySQL
	engineSQLite    = dsn.SQLite
)

// ParseConnection reads a connection string in any of these forms:
//
//	sqlserver://user:password@host:1433?database=shop        go-mssqldb's URL; fedauth=… for Microsoft Entra ID
//	Server=tcp:host,1433;Initial Catalog=shop;User ID=…      ADO.NET, as the Azure portal shows it
//	postgres://user:password@host:5432/shop                  also postgresql://; libpq's parameters
//	mysql://user:password@host:3306/shop?tls=true            also user:password@tcp(host:3306)/shop
//	sqlite:shop.db, sqlite:///var/lib/shop.db                an existing file
//
// Errors wrap poller.ErrConfig and say the mend. They never hold any part of the string that could be secret: keywords
// that are known are named, values and pieces that may belong to a password are not.
func ParseConnection(text string) (Connection, error) {
	c, err := parseConnection(strings.TrimSpace(text))
	if err != nil {
		return Connection{}, fmt.Errorf("%w: connection string: %w", poller.ErrConfig, err)
	}
	return c, nil
}

func parseConnection(text string) (Connection, error) {
	engine, err := dsn.Recognise(text)
	if err != nil {
		return Connection{}, err
	}
	switch engine {
	case engineSQLServer:
		return parseSQLServer(text)
	case enginePostgres:
		return parsePostgres(text)
	case engineMySQL:
		return parseMySQL(text)
	default:
		return parseSQLite(text)
	}
}

// isLoopback reports whether the host is this machine: a connection to it needs no verified TLS.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasPrefix(host, "/") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// normalHost is a host as Identity writes it: lower case, without the root's dot, an IPv6 address in brackets.
func normalHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// errURL is the fault of a URL that cannot be taken apart. Go's own message would print the part that does not fit,
// which is a piece of the password when that holds an unescaped slash.
var errURL = errors.New("it is not a valid URL: percent-encode the characters : / ? # [ ] @ % in the user and the password " +
	"(@ is %40, / is %2F, # is %23, ? is %3F, % is %25)")

// strayUserinfo reports an @ behind the authority of a URL that has none in it: the sign of a password with an
// unescaped / ? or #, whose pieces must not be named as if they were hosts or parameters.
func strayUserinfo(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	return end >= 0 && strings.Contains(rest[end:], "@")
}

// unverified is the warning for a connection whose other end is not known for certain.
func unverified(how, mend string) string {
	return "the server's certificate is not verified (" + how + "): whoever is on the way can read and change what is sent; " + mend
}

// unencrypted is the warning for a connection that anybody on the way can read.
func unencrypted(how, mend string) string {
	return "the connection is not encrypted (" + how + "): whoever is on the way can read and change what is sent; " + mend
}

// yes reads a boolean as the drivers do.
func yes(value string) (on, ok bool) {
	switch strings.ToLower(value) {
	case "true", "yes", "1", "t", "on":
		return true, true
	case "false", "no", "0", "f", "off":
		return false, true
	default:
		return false, false
	}
}
