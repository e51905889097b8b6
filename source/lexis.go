package source

import (
	"errors"
	"fmt"
	"strings"
)

// lexis is what an engine takes for quotes and comments beyond the standard's '…', "…", -- and /* */.
type lexis struct {
	brackets  bool // [name], with ]] inside
	backticks bool // `name`
	backslash bool // \' inside '…' and "…"
	dollar    bool // $tag$…$tag$, and E'…' with backslashes
	hash      bool // # begins a comment
	nested    bool // /* /* */ */ nests
}

// The user's condition and query are pasted into our statements. They come from the app's own settings, so this is no
// defence against an attacker: it keeps a slip (a stray parenthesis, a comment at the end, a second statement) from
// changing what our part of the statement means.

// checkCondition reports a condition that would not end where its text ends.
func (l lexis) checkCondition(text string) error {
	if text == "" {
		return nil
	}
	words, err := l.scan(text)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("it holds no condition: remove the setting, or write one")
	}
	switch strings.ToUpper(words[0].text) {
	case "WHERE":
		return errors.New("write the condition only, without the word WHERE")
	case "AND", "OR", "ORDER", "GROUP", "LIMIT":
		return fmt.Errorf("it begins with %s: write a condition", words[0].text)
	}
	for i, w := range words {
		if w.depth == 0 && i+1 < len(words) && strings.EqualFold(words[i+1].text, "BY") && (strings.EqualFold(w.text, "ORDER") || strings.EqualFold(w.text, "GROUP")) {
			return fmt.Errorf("%s BY does not belong there: the order is Rowrelay's (cursor, then key)", strings.ToUpper(w.text))
		}
	}
	return nil
}

// checkQuery reports a query that cannot stand as a derived table, or that would lose rows as one.
func (l lexis) checkQuery(text string) error {
	if text == "" {
		return nil
	}
	words, err := l.scan(text)
	if err != nil {
		return err
	}
	if len(words) == 0 || (!strings.EqualFold(words[0].text, "SELECT") && !strings.EqualFold(words[0].text, "WITH") && !strings.EqualFold(words[0].text, "VALUES") && !strings.EqualFold(words[0].text, "TABLE")) {
		return errors.New("it must be one SELECT")
	}
	for i, w := range words {
		word := strings.ToUpper(w.text)
		if word == "NOLOCK" || word == "READUNCOMMITTED" {
			return errors.New("it reads uncommitted rows (" + word + "), and may miss committed ones: remove the hint")
		}
		if w.depth > 0 {
			continue
		}
		next := ""
		if i+1 < len(words) {
			next = strings.ToUpper(words[i+1].text)
		}
		switch {
		case word == "ORDER" && next == "BY":
			return errors.New("it has an outer ORDER BY: remove it, the order is Rowrelay's (cursor, then key)")
		case word == "LIMIT", word == "OFFSET", word == "FETCH" && (next == "FIRST" || next == "NEXT"), word == "TOP" && i > 0 && isSelectTop(words[i-1].text):
			return errors.New("it has an outer " + word + ": remove it, the limit is Rowrelay's (batch_size)")
		case word == "FOR" && (next == "UPDATE" || next == "SHARE" || next == "NO" || next == "KEY"):
			return errors.New("it locks rows (FOR " + next + "): remove that, Rowrelay only reads")
		case word == "INTO":
			return errors.New("it writes (INTO): it must be one SELECT that only reads")
		}
	}
	return nil
}

func isSelectTop(previous string) bool {
	return strings.EqualFold(previous, "SELECT") || strings.EqualFold(previous, "DISTINCT") || strings.EqualFold(previous, "ALL")
}

// word is a bare word outside of quotes and comments (a number, too), and the depth of parentheses that it stands at.
type word struct {
	text  string
	depth int
}

// scan reads text as the engine would and returns its bare words. It fails where quotes, comments or parentheses do not
// close, or where a statement ends.
func (l lexis) scan(text string) ([]word, error) {
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("it holds a NUL character")
	}
	var words []word
	depth := 0
	for i := 0; i < len(text); {
		c := text[i]
		rest := text[i:]
		n := 1
		switch {
		case strings.HasPrefix(rest, "--"), c == '#' && l.hash:
			n = lineEnd(rest)
		case strings.HasPrefix(rest, "/*"):
			n = l.commentEnd(rest)
		case c == '\'' || c == '"':
			n = quoteEnd(rest, c, l.backslash || (c == '\'' && l.dollar && escapeString(text, i)))
		case c == '`' && l.backticks:
			n = quoteEnd(rest, '`', false)
		case c == '[' && l.brackets:
			n = quoteEnd(rest, ']', false)
		case c == '$' && l.dollar:
			n = dollarEnd(rest)
		case c == '(':
			depth++
		case c == ')':
			depth--
			if depth < 0 {
				return nil, errors.New("it closes a parenthesis that it did not open")
			}
		case c == ';':
			if strings.TrimSpace(rest[1:]) == "" {
				return nil, errors.New("it ends with a semicolon: remove it")
			}
			return nil, errors.New("it holds a semicolon: one condition or one SELECT is all that may stand there")
		case isWord(c):
			for n < len(rest) && (isWord(rest[n]) || rest[n] == '$') {
				n++
			}
			words = append(words, word{rest[:n], depth})
		}
		if n < 0 {
			return nil, errors.New("a quote or comment in it is not closed")
		}
		i += n
	}
	if depth > 0 {
		return nil, errors.New("it does not close every parenthesis that it opens")
	}
	return words, nil
}

func isWord(c byte) bool {
	return c == '_' || c == '@' || c >= 0x80 || ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')
}

func lineEnd(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i + 1
	}
	return len(s)
}

// commentEnd returns the length of the /* comment at the start of s, -1 when it does not end.
func (l lexis) commentEnd(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch {
		case s[i] == '/' && s[i+1] == '*' && (depth == 0 || l.nested):
			depth++
			i++
		case s[i] == '*' && s[i+1] == '/':
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// quoteEnd returns the length of the quoted text at the start of s, -1 when it does not end. The closing quote doubled
// stands for itself.
func quoteEnd(s string, closing byte, backslash bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && backslash:
			i++
		case s[i] == closing && i+1 < len(s) && s[i+1] == closing:
			i++
		case s[i] == closing:
			return i + 1
		}
	}
	return -1
}

// escapeString reports whether the quote at i opens an E'…' string.
func escapeString(s string, i int) bool {
	return i > 0 && (s[i-1] == 'e' || s[i-1] == 'E') && (i == 1 || !isWord(s[i-2]))
}

// dollarEnd returns the length of the $tag$…$tag$ text at the start of s, 1 when it is no such text.
func dollarEnd(s string) int {
	end := 1
	for end < len(s) && isWord(s[end]) && (end > 1 || s[end] < '0' || s[end] > '9') {
		end++
	}
	if end == len(s) || s[end] != '$' {
		return 1
	}
	tag := s[:end+1]
	i := strings.Index(s[len(tag):], tag)
	if i < 0 {
		return -1
	}
	return i + 2*len(tag)
}
