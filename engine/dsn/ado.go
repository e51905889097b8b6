package dsn

import (
	"errors"
	"fmt"
	"strings"
)

// Pair is one keyword=value of an ADO.NET connection string. The keyword is lower case without spaces: "User ID",
// "user id" and "UserID" are one keyword.
type Pair struct{ Key, Value string }

// SplitADO takes an ADO.NET connection string apart by the rules of .NET's DbConnectionStringBuilder: pairs end at a
// semicolon; white space around keywords and bare values does not count; a value in '…' or "…" may hold anything, its
// own quote doubled; "==" in a keyword is one "=".
//
// Errors count entries from 1 and never show a value. A piece that is no keyword may be the rest of a password that
// holds an unquoted semicolon, so it is not shown either.
func SplitADO(text string) ([]Pair, error) {
	var pairs []Pair
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
		pairs = append(pairs, Pair{key, value})
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

// Words reads an ADO.NET string by the keywords of each word, which are lower case without blanks. Those of "" are
// about the program that the string was written for, and are left out. Every fault is one that shows no value.
func Words(text string, keywords map[string]string) (map[string]string, error) {
	known := map[string]string{}
	for word, keys := range keywords {
		for key := range strings.FieldsSeq(keys) {
			known[key] = word
		}
	}
	pairs, err := SplitADO(text)
	if err != nil {
		return nil, err
	}
	values, keys := map[string]string{}, map[string]string{}
	secretBefore := false
	for i, p := range pairs {
		word, ok := known[p.Key]
		switch {
		case !ok && (secretBefore || !Nameable(p.Key)):
			return nil, errStray(i + 1)
		case !ok:
			return nil, fmt.Errorf("the keyword %q is not known: it is misspelt, or must be removed", p.Key)
		case word == "":
			continue
		case keys[word] == p.Key:
			return nil, fmt.Errorf("the keyword %q stands twice: remove one", p.Key)
		case keys[word] != "":
			return nil, fmt.Errorf("the keywords %q and %q mean the same: remove one", keys[word], p.Key)
		case word == Password && strings.HasPrefix(p.Value, "{"):
			return nil, errors.New("the password is a placeholder: write the password in its place")
		}
		values[word], keys[word] = p.Value, p.Key
		// From a password on, a piece that is no keyword may be the password's own.
		secretBefore = secretBefore || word == Password
	}
	return values, nil
}

// Password is the word of [Words] for one.
const Password = "password"

func errStray(entry int) error {
	return fmt.Errorf("entry %d does not begin with a keyword that is known: a password that holds a semicolon must be "+
		"quoted (Password=\"…\")", entry)
}
