package handler

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"unicode/utf8"
)

// maxLine bounds one log line, in bytes, without its newline: the host cuts longer ones, and a cut line is no JSON.
const maxLine = 16 << 10

// NewHostLogger returns a logger whose lines the Functions host classifies as they are meant. The host takes each line
// of stdout as Information, and each of stderr as Error, unless it contains "warn" in any case, which makes it Warning.
//
//   - Debug and Info go to stdout.
//   - Warn goes to stderr and contains "WARN", its level.
//   - Error goes to stderr, where every "warn" in it has its first letter escaped (\u0077arn): the same JSON, but not the
//     same text.
//
// A record is one line of JSON of at most 16 KiB, in one Write; its longest strings are cut to make it fit. It begins
// with a brace, so that it is never taken for one of the host's own prefixed lines.
func NewHostLogger(stdout, stderr io.Writer, level slog.Leveler) *slog.Logger {
	options, one := &slog.HandlerOptions{Level: level}, new(sync.Mutex)
	return slog.New(&hostHandler{
		info:  slog.NewJSONHandler(lineWriter{one: one, w: stdout}, options),
		warn:  slog.NewJSONHandler(lineWriter{one: one, w: stderr}, options),
		fault: slog.NewJSONHandler(lineWriter{one: one, w: stderr, hideWarn: true}, options),
	})
}

// hostHandler sends each record to the handler of its level.
type hostHandler struct {
	info, warn, fault slog.Handler
}

// Enabled asks the one level that all three share.
func (h *hostHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.info.Enabled(ctx, level)
}

// Handle writes the record.
func (h *hostHandler) Handle(ctx context.Context, record slog.Record) error {
	switch {
	case record.Level >= slog.LevelError:
		return h.fault.Handle(ctx, record)
	case record.Level >= slog.LevelWarn:
		return h.warn.Handle(ctx, record)
	default:
		return h.info.Handle(ctx, record)
	}
}

// WithAttrs adds attributes to every later record.
func (h *hostHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &hostHandler{h.info.WithAttrs(attrs), h.warn.WithAttrs(attrs), h.fault.WithAttrs(attrs)}
}

// WithGroup puts every later attribute into a group.
func (h *hostHandler) WithGroup(name string) slog.Handler {
	return &hostHandler{h.info.WithGroup(name), h.warn.WithGroup(name), h.fault.WithGroup(name)}
}

// lineWriter takes one record in each Write, as slog.JSONHandler promises, and passes it on in one Write.
type lineWriter struct {
	one      *sync.Mutex // each handler has a lock of its own, and two of them have one writer
	w        io.Writer
	hideWarn bool
}

// Write makes the record fit and writes it.
func (l lineWriter) Write(line []byte) (int, error) {
	body := bytes.TrimSuffix(line, []byte("\n"))
	if l.hideWarn {
		body = hideWarn(body)
	}
	body = bound(body, maxLine)
	out := make([]byte, 0, len(body)+1)
	out = append(append(out, body...), '\n')
	l.one.Lock()
	defer l.one.Unlock()
	if _, err := l.w.Write(out); err != nil {
		return 0, err
	}
	return len(line), nil
}

// hideWarn escapes the first letter of every "warn" in a JSON text, in any case. Outside of strings JSON has no such
// letters, and inside no escape sequence ends in w, so the text stays the same JSON.
func hideWarn(line []byte) []byte {
	at := indexWarn(line)
	if at < 0 {
		return line
	}
	out := make([]byte, 0, len(line)+64)
	for at >= 0 {
		out = append(out, line[:at]...)
		if line[at] == 'w' {
			out = append(out, `\u0077`...)
		} else {
			out = append(out, `\u0057`...)
		}
		line = line[at+1:]
		at = indexWarn(line)
	}
	return append(out, line...)
}

func indexWarn(line []byte) int {
	for i := 0; i+4 <= len(line); i++ {
		if line[i]|0x20 == 'w' && bytes.EqualFold(line[i:i+4], []byte("warn")) {
			return i
		}
	}
	return -1
}

// bound cuts the strings of a JSON text until it fits into limit bytes: all to one length, the greatest of a few that
// is enough. A record that consists of names only, which the program never writes, is replaced.
func bound(line []byte, limit int) []byte {
	if len(line) <= limit {
		return line
	}
	for _, most := range []int{8 << 10, 4 << 10, 2 << 10, 1 << 10, 512, 256, 128, 64} {
		if cut := cutStrings(line, most); len(cut) <= limit {
			return cut
		}
	}
	return []byte(`{"level":"ERROR","msg":"a log record was left out: it has too many members to fit into a line"}`)
}

// cutStrings cuts every string of a JSON text to at most most bytes and an ellipsis, between characters and escapes.
func cutStrings(line []byte, most int) []byte {
	out := make([]byte, 0, len(line))
	inside, start, cutting := false, 0, false
	for i := 0; i < len(line); {
		n := 1
		switch c := line[i]; {
		case c == '"':
			inside, cutting, start = !inside, false, i+1
			out = append(out, c)
			i++
			continue
		case inside && c == '\\':
			n = 2
			if i+1 < len(line) && line[i+1] == 'u' {
				n = 6
			}
		case inside && c >= utf8.RuneSelf:
			_, n = utf8.DecodeRune(line[i:])
		}
		n = min(n, len(line)-i)
		if inside && !cutting && i+n-start > most {
			cutting = true
			out = append(out, "…"...)
		}
		if !cutting {
			out = append(out, line[i:i+n]...)
		}
		i += n
	}
	return out
}
