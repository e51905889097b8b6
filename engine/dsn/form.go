// Package dsn tells connection strings apart: which engine each is for. It holds what the engines' own readers of them
// share.
//
// A connection string holds a password. No error of this package, and none of those readers', shows any part of it that
// could be secret: keywords that are known are named, values are not, and neither are pieces that may belong to a
// password.
package dsn

import (
	"errors"
	"regexp"
	"strings"
)

// NativeMySQL is go-sql-driver's own form: user:password@tcp(host:3306)/database?…. Its groups are the user with its
// password and the @, the network, the address, the database and the parameters.
var NativeMySQL = regexp.MustCompile(`(?s)^(.*@)?(tcp|tcp6|unix)\(([^()]*)\)/([^?]*)(?:\?(.*))?$`)

const forms = "give sqlserver://…, an ADO.NET string (Server=…;Database=…), postgres://…, mysql://… or sqlite:path"

// Engine names the engine that the connection string of a setting is for; "" where its form is none that is read.
func Engine(setting, text string) string {
	engine, err := RecogniseOf(setting, text)
	if err != nil {
		return ""
	}
	return engine
}

// recognise names the engine that a connection string is for, by its form alone. The error says why the text has no
// form that is read, and what to do.
func recognise(text string) (engine string, err error) {
	text = strings.TrimSpace(text)
	lower := strings.ToLower(text)
	switch {
	case text == "":
		return "", errors.New("it is empty: " + forms)
	case strings.ContainsRune(text, 0):
		return "", errors.New("it holds a NUL character: copy it again")
	case strings.HasPrefix(lower, "@microsoft.keyvault("):
		return "", errors.New("it is a Key Vault reference that was not resolved: give the app's identity the role " +
			"\"Key Vault Secrets User\" on the vault, and see the reference's status under Environment variables in the portal")
	case strings.HasPrefix(lower, "sqlserver://"):
		return SQLServer, nil
	case strings.HasPrefix(lower, "postgres://"), strings.HasPrefix(lower, "postgresql://"):
		return Postgres, nil
	case strings.HasPrefix(lower, "mysql://"), strings.HasPrefix(lower, "mariadb://"):
		return MySQL, nil
	case strings.HasPrefix(lower, "sqlite:"):
		return SQLite, nil
	case strings.HasPrefix(lower, "mssql://"), strings.HasPrefix(lower, "azuresql://"):
		return "", errors.New("its scheme is not known: write sqlserver://user:password@host:1433?database=…")
	case strings.HasPrefix(lower, "jdbc:"):
		return "", errors.New("JDBC strings are not read: " + forms)
	case strings.HasPrefix(lower, "odbc:"), strings.HasPrefix(lower, "driver="), strings.HasPrefix(lower, "dsn="):
		return "", errors.New("ODBC strings are not read: " + forms)
	case NativeMySQL.MatchString(text):
		return MySQL, nil
	case IsLibpq(text), npgsql.MatchString(text) && !isURL(text):
		return Postgres, nil
	case strings.Contains(text, "="):
		return SQLServer, nil // ADO.NET's form: see RecogniseOf
	default:
		return "", errors.New("its form is not known: " + forms)
	}
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

// IsOthersADO reports whether an ADO.NET string is probably none for SQL Server.
func IsOthersADO(text string) bool { return !isURL(text) && othersADO.MatchString(text) }

// NamesEngine says what to do with an ADO.NET string for another engine than SQL Server.
const NamesEngine = "an ADO.NET string for MySQL or PostgreSQL belongs into MYSQLCONNSTR_… or POSTGRESQLCONNSTR_…, " +
	"which names the engine"

// RecogniseOf is recognise for the string of a setting. ADO.NET's form is that of several engines: there the setting's
// name says which.
func RecogniseOf(setting, text string) (engine string, err error) {
	engine, err = recognise(text)
	if named := Named(setting); err == nil && named != "" && engine == SQLServer && !isURL(text) {
		return named, nil
	}
	return engine, err
}
