package sqltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is one token that counts: an unquoted word or number, in lower case, a quoted name as `"`, or one character.
type Word struct {
	Text  string
	Depth int // of parentheses; the parentheses themselves stand outside
}

// Text is what a text consists of.
type Text struct {
	Words []Word
	// Broken says why the text is not whole: "" when it is.
	Broken string
	// LineComment says that the text ends inside a -- comment. What follows it must begin on a line of its own.
	LineComment bool
}

// scanner walks through a text once.
type scanner struct {
	Syntax
	src   string
	pos   int
	depth int
	out   Text
}

// Scan splits SQL text into words. Strings and comments are left out.
func (s Syntax) Scan(text string) Text { return scan(text, s) }

func scan(src string, syntax Syntax) Text {
	s := &scanner{Syntax: syntax, src: src}
	if strings.ContainsRune(src, 0) {
		s.out.Broken = "holds a NUL character"
	}
	for s.pos < len(s.src) && s.out.Broken == "" {
		s.step()
	}
	if s.out.Broken == "" && s.depth > 0 {
		s.out.Broken = "has a parenthesis that is not closed"
	}
	return s.out
}

func (s *scanner) step() {
	rest := s.src[s.pos:]
	c := rest[0]
	switch {
	case strings.HasPrefix(rest, "/*"):
		s.blockComment()
	case strings.HasPrefix(rest, "--") && (!s.dashSpace || len(rest) == 2 || rest[2] <= ' '), c == '#' && s.hash:
		s.toLineEnd()
	case c == '\'':
		s.quoted('\'', s.backslash || s.escapeString())
	case c == '"':
		s.quoted('"', s.backslash)
		s.add(`"`)
	case c == '`' && s.backticks:
		s.quoted('`', false)
		s.add(`"`)
	case c == '[' && s.brackets:
		s.quoted(']', false)
		s.add(`"`)
	case c == '$' && s.dollars && s.dollarString():
	case c == '(':
		s.open()
	case c == ')':
		s.close()
	default:
		s.plain()
	}
}

func (s *scanner) add(text string) {
	s.out.Words = append(s.out.Words, Word{Text: text, Depth: s.depth})
}

func (s *scanner) open() {
	s.add("(")
	s.depth++
	s.pos++
}

func (s *scanner) close() {
	if s.depth == 0 {
		s.out.Broken = "closes a parenthesis that it did not open"
		return
	}
	s.depth--
	s.pos++
	s.add(")")
}

// plain takes a word, a number, one other character, or white space.
func (s *scanner) plain() {
	start := s.pos
	number := s.src[start] >= '0' && s.src[start] <= '9' // 1. and 1.5 are one word, t.a are three
	for s.pos < len(s.src) {
		r, size := utf8.DecodeRuneInString(s.src[s.pos:])
		inside := s.pos > start && (r == '$' || r == '#' || r == '.' && number)
		if r != '_' && r != '@' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !inside {
			break
		}
		s.pos += size
	}
	if s.pos > start {
		s.add(strings.ToLower(s.src[start:s.pos]))
		return
	}
	r, size := utf8.DecodeRuneInString(s.src[s.pos:])
	s.pos += size
	if !unicode.IsSpace(r) {
		s.add(s.src[start:s.pos])
	}
}

// escapeString reports whether the quote at pos opens PostgreSQL's E'…': the E is then the last word.
func (s *scanner) escapeString() bool {
	return s.dollars && s.pos > 0 && (s.src[s.pos-1] == 'e' || s.src[s.pos-1] == 'E') &&
		len(s.out.Words) > 0 && s.out.Words[len(s.out.Words)-1].Text == "e"
}

// quoted skips a string or a name; its end doubled stands for itself.
func (s *scanner) quoted(end byte, backslash bool) {
	for i := s.pos + 1; i < len(s.src); i++ {
		switch {
		case backslash && s.src[i] == '\\':
			i++
		case s.src[i] == end && i+1 < len(s.src) && s.src[i+1] == end:
			i++
		case s.src[i] == end:
			s.pos = i + 1
			return
		}
	}
	s.out.Broken = "has a quote that does not end"
}

// dollarString skips $tag$…$tag$ if one begins at pos.
func (s *scanner) dollarString() bool {
	rest := s.src[s.pos:]
	n := strings.IndexByte(rest[1:], '$')
	if n < 0 {
		return false
	}
	tag := rest[:n+2]
	for i, r := range tag[1 : n+1] {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	end := strings.Index(rest[len(tag):], tag)
	if end < 0 {
		s.out.Broken = "has a quote that does not end"
		return true
	}
	s.pos += 2*len(tag) + end
	return true
}

func (s *scanner) blockComment() {
	if s.executable && strings.HasPrefix(s.src[s.pos:], "/*!") {
		s.out.Broken = "has a comment /*! … */, which MySQL executes"
		return
	}
	level := 1
	for i := s.pos + 2; i+1 < len(s.src); i++ {
		switch {
		case s.src[i] == '*' && s.src[i+1] == '/':
			i++
			if level--; level == 0 {
				s.pos = i + 1
				return
			}
		case s.nested && s.src[i] == '/' && s.src[i+1] == '*':
			i++
			level++
		}
	}
	s.out.Broken = "has a comment that does not end"
}

func (s *scanner) toLineEnd() {
	n := strings.IndexByte(s.src[s.pos:], '\n')
	if n < 0 {
		s.pos, s.out.LineComment = len(s.src), true
		return
	}
	s.pos += n + 1
}
