package target

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// adoPair is one keyword=value of an ADO.NET connection string. The keyword is lower case without spaces: "User ID",
// "user id" and "UserID" are one keyword.
type adoPair struct{ key, value string }

// splitADO takes an ADO.NET connection string apart by the rules of .NET's DbConnectionStringBuilder: pairs end at a
// semicolon; white space around keywords and bare values does not count; a value in '…' or "…" may hold anything, its
// own quote doubled; "==" in a keyword is one "=".
//
// Errors count entries from 1 and never show a value. A piece that is no keyword may be the rest of a password that
// holds an unquoted semicolon, so it is not shown either.
func splitADO(text string) ([]adoPair, error) {
	var pairs []adoPair
	rest := text
	for n := 1; ; n++ {
		rest = strings.TrimLeft(rest, " \t\r\n;")
		if rest == "" {
			return pairs, nil
		}
		key, after, ok := cutADOKey(rest)
		if !ok {
			return nil, fmt.Errorf("entry %d has no \"=\": a value that holds a semicolon must be quoted (Password=\"…\")", n)
		}
		if key == "" {
			return nil, fmt.Errorf("entry %d has no keyword before its \"=\"", n)
		}
		value, remaining, err := cutADOValue(after)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", n, err)
		}
		pairs = append(pairs, adoPair{key, value})
		rest = remaining
	}
}

// cutADOKey returns the normalised keyword and what follows its "=".
func cutADOKey(s string) (key, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '=':
			if i+1 < len(s) && s[i+1] == '=' {
				b.WriteByte('=')
				i++
				continue
			}
			return strings.ToLower(b.String()), s[i+1:], true
		case ';':
			return "", "", false
		case ' ', '\t', '\r', '\n':
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

var (
	errADOQuote = errors.New("a quoted value does not end: double the quote inside it, or quote with the other kind")
	errADOTail  = errors.New("there is text between a quoted value and the next semicolon: double the quote inside the value")
)

// cutADOValue returns the value at the start of s and what follows its semicolon.
func cutADOValue(s string) (value, rest string, err error) {
	s = strings.TrimLeft(s, " \t\r\n")
	if s == "" || (s[0] != '"' && s[0] != '\'') {
		value, rest, _ = strings.Cut(s, ";")
		return strings.TrimRight(value, " \t\r\n"), rest, nil
	}
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != quote {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		tail, rest, _ := strings.Cut(s[i+1:], ";")
		if strings.TrimSpace(tail) != "" {
			return "", "", errADOTail
		}
		return b.String(), rest, nil
	}
	return "", "", errADOQuote
}

// setServer reads [tcp:]host[\instance][,port].
func setServer(t *Target, value string) error {
	value = strings.TrimSpace(value)
	if prefix, rest, found := strings.Cut(value, ":"); found {
		switch strings.ToLower(prefix) {
		case "tcp":
			value = rest
		case "np", "lpc", "admin":
			return errors.New("names a protocol that is not supported: only tcp: is")
		}
	}
	host, port, hasPort := strings.Cut(value, ",")
	host, instance, hasInstance := strings.Cut(strings.TrimSpace(host), `\`)
	host = strings.Trim(strings.TrimSpace(host), "[]")
	switch strings.ToLower(host) {
	case ".", "(local)":
		host = "localhost"
	case "(localdb)":
		return errors.New("names LocalDB, which exists on Windows only: use a SQL Server that listens on TCP")
	case "":
		return errors.New("names no host")
	}
	if strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return errors.New(`must be host,port with a comma, as in tcp:host,1433`)
	}
	if hasPort && strings.TrimSpace(port) == "" || hasInstance && instance == "" {
		return errors.New(`must be [tcp:]host[\instance][,port]`)
	}
	t.host, t.instance = host, strings.TrimSpace(instance)
	if hasPort {
		t.port = strings.TrimSpace(port)
	}
	return nil
}
