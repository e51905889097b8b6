package plaintext

import (
	"errors"
	"os/exec"
	"testing"
)

func TestLine(t *testing.T) {
	for s, want := range map[string]string{
		"":                                 "",
		"a line":                           "a line",
		" two\r\n\tlines ":                 "two lines",
		"a NUL\x00, a bell\a":              "a NUL, a bell",
		"\x1b[31mred":                      "[31mred",
		"turned \u202eround":               "turned round",
		"invalid \xff UTF-8, and a \u00a0": "invalid \uFFFD UTF-8, and a",
		"\u200b\u00ad\ufeff":               "",
		"a\u2028b\u0085c":                  "a b c",
		"Größe 5 µm":                       "Größe 5 µm",
	} {
		if got := Line(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s          string
		most       int
		cut, start string
	}{
		{"abcdef", 6, "abcdef", "abcdef"},
		{"abcdef", 5, "ab…", "abcde"},
		{"ééé", 5, "é…", "éé"},
		{"ééé", 4, "…", "éé"},
	} {
		if got := Cut(c.s, c.most); got != c.cut {
			t.Errorf("%q cut to %d: %q, want %q", c.s, c.most, got, c.cut)
		}
		if got := Start(c.s, c.most); got != c.start {
			t.Errorf("the start of %q, %d: %q, want %q", c.s, c.most, got, c.start)
		}
	}
}

// nastyID is an id with all that a shell would act upon.
const (
	nastyID     = "$(echo run) `echo run` 'a' \"b\" \\ ! *\n; echo run"
	quotedNasty = "'$(echo run) `echo run` '\\''a'\\'' \"b\" \\ ! *\n; echo run'"
)

// What is quoted comes out of a shell as it went in.
func TestShellWord(t *testing.T) {
	if got := ShellWord(nastyID); got != quotedNasty {
		t.Errorf("%s", got)
	}
	for _, text := range []string{"plain-1", "", " ", "$HOME", "$(echo run)", "`echo run`", "it's", "''", "\"", "a\nb\n",
		"-x", "ü", "~", "*", nastyID} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s|' -- "+ShellWord(text)).Output()
		if err != nil || string(out) != "--|"+text+"|" {
			t.Errorf("%q came out as %q, %v", text, out, err)
		}
	}
}

func TestStorable(t *testing.T) {
	for s, want := range map[string]string{"": "", "a\x00b": "a\uFFFDb", "\xff": "\uFFFD", "é\n": "é\n"} {
		if got := Storable(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestErrorsAreOneLine(t *testing.T) {
	cause := errors.New("failed to connect:\n\t127.0.0.1:1: refused\n\t[::1]:1: refused")
	if err := Error(cause); !errors.Is(err, cause) ||
		err.Error() != "failed to connect: 127.0.0.1:1: refused [::1]:1: refused" {
		t.Error(err)
	}
	if Error(nil) != nil {
		t.Error("no error became one")
	}
}
