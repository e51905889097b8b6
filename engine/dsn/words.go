package dsn

import (
	"errors"
	"net/url"
	"strings"
)

// The engines' names, as documents, metrics and settings hold them.
const (
	SQLServer = "sqlserver"
	Postgres  = "postgres"
	MySQL     = "mysql"
	SQLite    = "sqlite"
)

// Host is a host as Identity writes it: lower case, without the root's dot, an IPv6 address in brackets.
func Host(host string) string {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// ErrURL is the fault of a URL that cannot be taken apart. Go's own message would print the part that does not fit,
// which is a piece of the password when that holds an unescaped slash.
var ErrURL = errors.New("it is not a valid URL: percent-encode the characters : / ? # [ ] @ % in the user and the password " +
	"(@ is %40, / is %2F, # is %23, ? is %3F, % is %25)")

// ParseURL takes a connection string that is a URL apart. The error shows nothing of it: it is ErrURL.
func ParseURL(text string) (*url.URL, url.Values, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.User == nil && strayUserinfo(text) {
		return nil, nil, ErrURL
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, nil, ErrURL
	}
	return u, query, nil
}

// strayUserinfo reports an @ after the authority of a URL that has none in it: the sign of a password with an
// unescaped / ? or #, whose pieces must not be named as if they were hosts or parameters.
func strayUserinfo(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	return end >= 0 && strings.Contains(rest[end:], "@")
}

// Unverified is the warning for a connection whose other end is not known for certain.
func Unverified(how, remedy string) string {
	return "the server's certificate is not verified (" + how +
		"): whoever is on the way can read and change what is sent; " + remedy
}

// Unencrypted is the warning for a connection that anybody on the way can read.
func Unencrypted(how, remedy string) string {
	return "the connection is not encrypted (" + how + "): whoever is on the way can read and change what is sent; " +
		remedy
}

// Yes reads a boolean as the drivers do.
func Yes(value string) (on, ok bool) {
	switch strings.ToLower(value) {
	case "true", "yes", "1", "t", "on":
		return true, true
	case "false", "no", "0", "f", "off":
		return false, true
	default:
		return false, false
	}
}

// Nameable reports whether an unknown keyword looks like one, so that a message may show it: any other text may be a
// piece of a password.
func Nameable(key string) bool {
	return key != "" && len(key) <= 40 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

// Named is the engine that the name of a setting says: the portal gives the connection strings of its list prefixes by
// their kind. "" where the name says none.
func Named(setting string) string {
	switch upper := strings.ToUpper(setting); {
	case strings.HasPrefix(upper, "MYSQLCONNSTR_"):
		return MySQL
	case strings.HasPrefix(upper, "POSTGRESQLCONNSTR_"):
		return Postgres
	}
	return ""
}
