package target

import (
	"errors"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine/dsn"
)

// keyword says what a keyword does. The keywords are those of Microsoft.Data.SqlClient and of go-mssqldb, in
// lower case without spaces.
type keyword struct {
	// set stores the value; nil where the keyword is refused.
	set func(*Target, string) error
	// remedy says why a refused keyword is refused, and what to do.
	remedy string
}

func option(name string) keyword {
	return keyword{set: func(t *Target, v string) error { t.options[name] = v; return nil }}
}

func number(name string) keyword {
	return keyword{set: func(t *Target, v string) error {
		if _, err := strconv.ParseUint(v, 10, 31); err != nil {
			return errors.New("must be a whole number")
		}
		t.options[name] = v
		return nil
	}}
}

func refuse(remedy string) keyword { return keyword{remedy: remedy} }

// keywords is a function, not a variable: it is read once for each string.
func keywords() map[string]keyword {
	server := keyword{set: setServer}
	database := keyword{set: func(t *Target, v string) error { t.database = v; return nil }}
	user := keyword{set: func(t *Target, v string) error { t.user = v; return nil }}
	password := keyword{set: func(t *Target, v string) error { t.password = v; return nil }}
	encrypt := keyword{set: func(t *Target, v string) error { t.encrypt = strings.ToLower(v); return nil }}
	trust := keyword{set: func(t *Target, v string) error { t.trust = strings.ToLower(v); return nil }}
	auth := keyword{set: setAuthentication}
	ignored := keyword{set: func(*Target, string) error { return nil }}
	windows := keyword{set: func(_ *Target, v string) error {
		if on, ok := dsn.Yes(v); ok && !on {
			return nil
		}
		return errors.New("is Windows authentication, which is not available here: remove it and give User ID and Password, " +
			"or Authentication=Active Directory Managed Identity")
	}}
	pool := keyword{set: func(t *Target, _ string) error {
		t.warnings = append(t.warnings,
			"pool keywords of the connection string have no effect: source__connections sets the pool's size")
		return nil
	}}
	command := keyword{set: func(t *Target, _ string) error {
		t.warnings = append(t.warnings,
			"Command Timeout of the connection string has no effect: source__timeout bounds each statement")
		return nil
	}}
	m := map[string]keyword{
		"server": server, "datasource": server, "address": server, "addr": server, "networkaddress": server,
		"database": database, "initialcatalog": database,
		"userid": user, "uid": user, "user": user,
		"password": password, "pwd": password,
		"encrypt": encrypt, "trustservercertificate": trust,
		"authentication": auth, "fedauth": auth,
		"integratedsecurity": windows, "trusted_connection": windows,

		"port":                  {set: func(t *Target, v string) error { t.port = v; return nil }},
		"hostnameincertificate": option("hostnameincertificate"),
		"servercertificate":     option("servercertificate"),
		"certificate":           option("certificate"),
		"tlsmin":                option("tlsmin"),
		"applicationname":       option("app name"), "app": option("app name"), "appname": option("app name"),
		"workstationid": option("workstation id"), "wsid": option("workstation id"),
		"applicationintent": {set: setIntent},
		// go-mssqldb's own connection timeout would bound every read of a result, not the opening.
		"connecttimeout": number("dial timeout"), "connectiontimeout": number("dial timeout"),
		"timeout":     number("dial timeout"),
		"dialtimeout": number("dial timeout"), "keepalive": number("keepalive"), "packetsize": number("packet size"),
		"failoverpartner": option("failoverpartner"), "failoverport": number("failoverport"),
		"multisubnetfailover": {set: setMultiSubnet},
		"disableretry":        ignored,
		"applicationclientid": option("applicationclientid"), "clientcertpath": option("clientcertpath"),
		"resourceid": option("resource id"), "tokenfilepath": option("tokenfilepath"),
		"additionallyallowedtenants": option("additionallyallowedtenants"),
		"disableinstancediscovery":   option("disableinstancediscovery"),
		"sendcertificatechain":       option("sendcertificatechain"),

		"multipleactiveresultsets": ignored, "mars": ignored, "persistsecurityinfo": ignored, "enlist": ignored,
		"connectretrycount": ignored, "connectretryinterval": ignored, "poolblockingperiod": ignored,
		"typesystemversion": ignored, "asynchronousprocessing": ignored, "async": ignored, "replication": ignored,
		"ipaddresspreference": ignored, "transactionbinding": ignored, "notraceid": ignored, "connectionreset": ignored,
		"pooling": ignored, "maxpoolsize": pool, "minpoolsize": pool, "connectionlifetime": ignored,
		"loadbalancetimeout": ignored,
		"commandtimeout":     command,

		"attachdbfilename":   refuse("attached files are not supported: name the database"),
		"initialfilename":    refuse("attached files are not supported: name the database"),
		"extendedproperties": refuse("attached files are not supported: name the database"),
		"userinstance":       refuse("user instances exist on Windows only: remove it"),
		"contextconnection":  refuse("it exists inside SQL Server only: remove it"),
		"columnencryption":   refuse("Always Encrypted columns are not decrypted: remove it, and leave such columns out by source__columns"),
		"columnencryptionsetting": refuse("Always Encrypted columns are not decrypted: remove it, and leave such columns out by " +
			"source__columns"),
		"networklibrary": refuse("only TCP is supported: remove it"), "network": refuse("only TCP is supported: remove it"),
		"net": refuse("only TCP is supported: remove it"), "protocol": refuse("only TCP is supported: remove it"),
		"pipe":               refuse("only TCP is supported: remove it"),
		"currentlanguage":    refuse("Rowrelay's statements do not depend on the language: remove it"),
		"language":           refuse("Rowrelay's statements do not depend on the language: remove it"),
		"timezone":           refuse("zoneless times are read by source__time_zone: remove it"),
		"guidconversion":     refuse("uniqueidentifier is read in its standard form anyway: remove it"),
		"log":                refuse("the driver's log could show values of rows: remove it"),
		"changepassword":     refuse("a password is not changed here: remove it"),
		"newpassword":        refuse("a password is not changed here: remove it"),
		"serverspn":          refuse("Kerberos is not supported: remove it"),
		"failoverpartnerspn": refuse("Kerberos is not supported: remove it"),
		"epaenabled":         refuse("Windows authentication is not available here: remove it"),
	}
	return m
}

func setIntent(t *Target, value string) error {
	switch strings.ToLower(value) {
	case "readonly":
		t.options["applicationintent"] = "ReadOnly"
		t.warnings = append(t.warnings,
			"ApplicationIntent=ReadOnly may read a secondary that lags: rows arrive as late as it does")
	case "readwrite":
	default:
		return errors.New("must be ReadWrite or ReadOnly")
	}
	return nil
}

func setMultiSubnet(t *Target, value string) error {
	on, ok := dsn.Yes(value)
	if !ok {
		return errors.New("must be True or False")
	}
	t.options["multisubnetfailover"] = strconv.FormatBool(on)
	return nil
}
