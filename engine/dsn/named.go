package dsn

import (
	"regexp"
	"strings"
)

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

// RecogniseOf is recognise for the string of a setting. ADO.NET's form is that of several engines: there the setting's
// name says which.
func RecogniseOf(setting, text string) (engine string, err error) {
	engine, err = recognise(text)
	if named := Named(setting); err == nil && named != "" && engine == SQLServer && !isURL(text) {
		return named, nil
	}
	return engine, err
}

func isURL(text string) bool { return scheme.MatchString(text) }

var scheme = regexp.MustCompile(`^\s*[A-Za-z0-9]+://`)

// libpq is PostgreSQL's own form: keyword=value, separated by blanks. A bare value with a semicolon would be ADO.NET's.
var libpq = regexp.MustCompile(`^(?:\s*(?:host|hostaddr|port|dbname|user|password|passfile|service|servicefile|options|` +
	`sslmode|sslrootcert|sslcert|sslkey|sslpassword|sslsni|connect_timeout|application_name|target_session_attrs|` +
	`channel_binding|search_path|timezone|datestyle|statement_timeout)\s*=\s*(?:'(?:\\.|[^'\\])*'|(?:\\.|[^\s';\\])*))+\s*$`)

// IsLibpq reports whether a connection string has PostgreSQL's own form.
func IsLibpq(text string) bool { return libpq.MatchString(text) }

// npgsql is what an ADO.NET string for PostgreSQL alone has.
var npgsql = regexp.MustCompile(`(?i)(?:^|;)\s*host\s*=`)

// othersADO are keywords that SQL Server's ADO.NET strings do not have, and those for MySQL and PostgreSQL do.
var othersADO = regexp.MustCompile(`(?i)(?:^|;)\s*(?:ssl\s*mode|username)\s*=`)

// NamesEngine says what to do with an ADO.NET string for another engine than SQL Server.
const NamesEngine = "an ADO.NET string for MySQL or PostgreSQL belongs into MYSQLCONNSTR_… or POSTGRESQLCONNSTR_…, " +
	"which names the engine"

// IsOthersADO reports whether an ADO.NET string is probably none for SQL Server.
func IsOthersADO(text string) bool { return !isURL(text) && othersADO.MatchString(text) }
