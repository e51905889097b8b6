package handler

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// writes keeps each Write apart.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

// The host's rule, applied to every level: what it would call a line is what was meant.
func TestHostClassifiesLinesAsMeant(t *testing.T) {
	var stdout, stderr writes
	log := NewHostLogger(&stdout, &stderr, slog.LevelDebug).With("WarnKey", "a wArN b").WithGroup("g")
	text := "a \\warn \"warn\"\nLanguageWorkerConsoleLog WARNING wwarn w"
	log.Debug(text)
	log.Info(text, "n", 1)
	log.Warn("plain")
	log.Error(text, "warn", []string{"warn", "WARN"}, "n", 1)
	if len(stdout) != 2 || len(stderr) != 2 {
		t.Fatalf("one Write for each record, please; got %q and %q", stdout, stderr)
	}
	for _, line := range append(stdout, stderr...) {
		if !strings.HasPrefix(line, "{") || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "}\n") {
			t.Errorf("%q is not one line of JSON", line)
		}
	}
	if !strings.Contains(strings.ToLower(stderr[0]), "warn") {
		t.Errorf("the host takes %q for an error", stderr[0])
	}
	if strings.Contains(strings.ToLower(stderr[1]), "warn") {
		t.Errorf("the host takes %q for a warning", stderr[1])
	}
	var got struct {
		Msg     string
		WarnKey string
		G       struct{ Warn []string }
	}
	if err := json.Unmarshal([]byte(stderr[1]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Msg != text || got.WarnKey != "a wArN b" || !reflect.DeepEqual(got.G.Warn, []string{"warn", "WARN"}) {
		t.Errorf("the escaped line says %+v", got)
	}
}

func TestLevel(t *testing.T) {
	var stdout, stderr writes
	log := NewHostLogger(&stdout, &stderr, slog.LevelInfo)
	log.Debug("an idle tick")
	if len(stdout)+len(stderr) != 0 {
		t.Error("Debug was written at level Info")
	}
}

// The host cuts long lines: a record is made to fit before, and stays JSON.
func TestLongRecordsAreCut(t *testing.T) {
	for name, text := range map[string]string{
		"plain":      strings.Repeat("x", 40000),
		"quotes":     strings.Repeat(`"\`, 20000),
		"controls":   strings.Repeat("\x01", 20000),
		"characters": strings.Repeat("ü漢😀", 5000),
		"hidden":     strings.Repeat("warn", 10000),
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr writes
			NewHostLogger(&stdout, &stderr, slog.LevelInfo).Error(text, "a", text, "b", text, "next", "do this")
			line := stderr[0]
			if len(line) > maxLine+1 {
				t.Errorf("the line has %d bytes", len(line))
			}
			var got map[string]string
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%v: %.200q", err, line)
			}
			if got["next"] != "do this" || !strings.HasPrefix(text, strings.TrimSuffix(got["a"], "…")) || len(got["a"]) < 500 {
				t.Errorf("cut to %.200q, next %q", got["a"], got["next"])
			}
		})
	}
	many := make([]any, 0, 6000)
	for range 3000 {
		many = append(many, "name_of_a_member", 1)
	}
	var stdout, stderr writes
	NewHostLogger(&stdout, &stderr, slog.LevelInfo).Error("many", many...)
	if line := stderr[0]; len(line) > maxLine+1 || !json.Valid([]byte(line)) {
		t.Errorf("a record of many members became %.200q", line)
	}
}

func FuzzErrorLine(f *testing.F) {
	f.Add("a warning", `\u0077arn`)
	f.Add(`\\WARN"`, "ü"+strings.Repeat("w", 2000))
	f.Fuzz(func(t *testing.T, msg, value string) {
		var plain bytes.Buffer
		options := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		slog.New(slog.NewJSONHandler(&plain, options)).Error(msg, "value", value)
		line := hideWarn(bytes.TrimSpace(plain.Bytes()))
		if bytes.Contains(bytes.ToLower(line), []byte("warn")) {
			t.Fatalf("%q contains warn", line)
		}
		var want, got any
		if err := json.Unmarshal(plain.Bytes(), &want); err != nil {
			t.Skip("not JSON to begin with")
		}
		if err := json.Unmarshal(line, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is not the JSON of %q: %v", line, plain.Bytes(), err)
		}
		cut := bound(line, 512)
		if len(cut) > 512 || !json.Valid(cut) || bytes.Contains(bytes.ToLower(cut), []byte("warn")) {
			t.Fatalf("cut to %q", cut)
		}
	})
}
