package config

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
)

const redacted = "«redacted»"

// Secret is a value that no log, error or listing may show: every way of printing it says «redacted», or nothing when
// it is empty. Only Reveal gives it away.
type Secret string

// Reveal returns the secret itself, for the one place that uses it.
func (s Secret) Reveal() string { return string(s) }

// String is «redacted», or "" when there is no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is what %#v prints.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// Format covers every verb: fmt prints the bare value for a verb that does not fit a string, %d for one.
func (s Secret) Format(f fmt.State, verb rune) { redact(f, verb, s.String(), s.GoString()) }

// MarshalText is what JSON and other encodings write.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is what slog writes.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Address is a URL that may carry a secret: it prints as scheme, host and path. A key in the query, a password, a SAS
// are not shown.
type Address string

// Reveal returns the whole URL, for the one place that uses it.
func (a Address) Reveal() string { return string(a) }

// String is the URL without userinfo, query and fragment.
func (a Address) String() string {
	if a == "" {
		return ""
	}
	u, err := url.Parse(string(a))
	if err != nil || u.Host == "" {
		return redacted
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	return strings.NewReplacer("%7B", "{", "%7D", "}").Replace(shown) // of a template
}

// template reports whether the URL has braces, which no URL has.
func (a Address) template() bool { return strings.ContainsAny(string(a), "{}") }

// GoString is what %#v prints.
func (a Address) GoString() string { return fmt.Sprintf("config.Address(%q)", a.String()) }

// Format covers every verb.
func (a Address) Format(f fmt.State, verb rune) { redact(f, verb, a.String(), a.GoString()) }

// MarshalText is what JSON and other encodings write.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// LogValue is what slog writes.
func (a Address) LogValue() slog.Value { return slog.StringValue(a.String()) }

func redact(f fmt.State, verb rune, plain, goSyntax string) {
	switch {
	case verb == 'v' && f.Flag('#'):
		plain = goSyntax
	case verb == 'q':
		plain = fmt.Sprintf("%q", plain)
	}
	_, _ = io.WriteString(f, plain) // fmt.State has no way to report a failed write
}
