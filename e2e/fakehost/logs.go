package fakehost

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
)

// Level is what the host takes a line for.
type Level string

// The levels of a line. Swallowed lines begin with a prefix by which the host and the platform speak to themselves:
// nobody reads them as the handler's.
const (
	Information Level = "Information"
	Warning     Level = "Warning"
	Error       Level = "Error"
	Swallowed   Level = "Swallowed"
)

// Line is one line of the worker's output, or of the host's own.
type Line struct {
	Level Level
	// Source is stdout, stderr, "logs" for the Logs of an answer, or "host" for what the host has to say.
	Source string
	Text   string
}

// journal collects the lines of all workers.
type journal struct {
	mu    sync.Mutex
	lines []Line
	grown chan struct{} // closed when a line arrives; nil while nobody waits
}

func (j *journal) add(source, text string) {
	j.put(Line{Level: classify(source, text), Source: source, Text: text})
}

func (j *journal) put(line Line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	if j.grown != nil {
		close(j.grown)
		j.grown = nil
	}
}

// tell adds what the host has to say without being worried.
func (j *journal) tell(text string) { j.put(Line{Level: Information, Source: "host", Text: text}) }

// await returns the first line that is wanted, once there is one.
func (j *journal) await(ctx context.Context, wanted func(Line) bool) (Line, error) {
	for seen := 0; ; {
		j.mu.Lock()
		fresh := j.lines[seen:]
		seen = len(j.lines)
		if j.grown == nil {
			j.grown = make(chan struct{})
		}
		grown := j.grown
		j.mu.Unlock()
		for _, line := range fresh {
			if wanted(line) {
				return line, nil
			}
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return Line{}, fmt.Errorf("fakehost: no such line among %d: %w", seen, context.Cause(ctx))
		}
	}
}

func (j *journal) all() []Line {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Line(nil), j.lines...)
}

// classify is the host's rule.
func classify(source, text string) Level {
	switch {
	case source == "host":
		return Error
	case source == "logs":
		return Information
	case strings.HasPrefix(text, "LanguageWorkerConsoleLog"), strings.HasPrefix(text, "azfuncjsonlog:"):
		return Swallowed
	case source == "stdout":
		return Information
	case strings.Contains(strings.ToLower(text), "warn"):
		return Warning
	default:
		return Error
	}
}

// lines cuts a stream into lines; one goroutine writes to it.
type lines struct {
	journal *journal
	source  string
	rest    []byte
}

// Write takes a piece of the stream.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		at := bytes.IndexByte(l.rest, '\n')
		if at < 0 {
			return len(p), nil
		}
		l.line(l.rest[:at])
		l.rest = l.rest[at+1:]
	}
}

// end takes what the process left without an end of line.
func (l *lines) end() { l.line(l.rest) }

func (l *lines) line(text []byte) {
	if text = bytes.TrimRight(text, "\r"); len(text) > 0 {
		l.journal.add(l.source, string(text))
	}
}
