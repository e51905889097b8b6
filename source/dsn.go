package source

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/poller"
)

// The engines, as Connection.Engine and Description.Engine name them.
const (
	engineSQLServer = "sqlserver"
	enginePostgres  = "postgres"
	engineMySQL     = "mysql"
	engineSQLite    = "sqlite"
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

const connectionForms = "give sqlserver://…, an ADO.NET string (Server=…;Database=…), postgres://…, mysql://… or sqlite:path"

func parseConnection(text string) (Connection, error) {
	lower := strings.ToLower(text)
	switch {
	case text == "":
		return Connection{}, errors.New("it is empty: " + connectionForms)
	case strings.ContainsRune(text, 0):
		return Connection{}, errors.New("it holds a NUL character: copy it again")
	case strings.HasPrefix(lower, "@microsoft.keyvault("):
		return Connection{}, errors.New("it is a Key Vault reference that was not resolved: give the app's identity the role " +
			"\"Key Vault Secrets User\" on the vault, and see the reference's status under Environment variables in the portal")
	case strings.HasPrefix(lower, "sqlserver://"):
		return parseSQLServerURL(text)
	case strings.HasPrefix(lower, "postgres://"), strings.HasPrefix(lower, "postgresql://"):
		return parsePostgres(text)
	case strings.HasPrefix(lower, "mysql://"), strings.HasPrefix(lower, "mariadb://"):
		return parseMySQLURL(text)
	case strings.HasPrefix(lower, "sqlite:"):
		return parseSQLite(text)
	case strings.HasPrefix(lower, "mssql://"), strings.HasPrefix(lower, "azuresql://"):
		return Connection{}, errors.New("its scheme is not known: write sqlserver://user:password@host:1433?database=…")
	case strings.HasPrefix(lower, "jdbc:"):
		return Connection{}, errors.New("JDBC strings are not read: " + connectionForms)
	case strings.HasPrefix(lower, "odbc:"), strings.HasPrefix(lower, "driver="), strings.HasPrefix(lower, "dsn="):
		return Connection{}, errors.New("ODBC strings are not read: " + connectionForms)
	case mysqlNative.MatchString(text):
		return parseMySQLNative(text)
	case strings.Contains(text, "="):
		return parseADO(text)
	default:
		return Connection{}, errors.New("its form is not known: " + connectionForms)
	}
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
