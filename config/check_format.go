package config

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/mode"
)

// binaryFormat is the binary mode of CloudEvents over HTTP: headers beside one event's data.
const binaryFormat = "cloudevents_binary"

// checkFormat fills in the defaults, and sees to it that the output can send the format, and rows have what it sends.
func checkFormat(p *Poller, s *scope, out *Output) {
	switch {
	case !s.has("format") && s.mode.Can(mode.Events) && isBroker(out.Kind):
		out.Format = "payload"
	case !s.has("format"):
		out.Format = "cloudevents"
	case out.Format == "payload" && s.mode != "" && !s.mode.Can(mode.Events) && s.ok("format"):
		s.fault("format", `"payload" is for events of an outbox: rows of a table have no payload`,
			"Write row for the row's JSON, or source__mode=outbox")
	case out.Format == binaryFormat:
		checkBinary(s, out)
	}
	checkSingle(s, out)
	if out.Format != "cloudevents" && out.Format != binaryFormat && s.ok("format") {
		warnUnused(p, s, "has no effect with "+s.prefix+"format="+out.Format, []string{"type", "source"})
		return
	}
	checkType(s, out.Type)
}

// checkBinary sees to it that there are headers for the attributes. An output that is switched to stdout for a moment
// writes the structured mode.
func checkBinary(s *scope, out *Output) {
	switch {
	case !s.ok("format", "kind"):
	case out.Kind != "http" && out.Kind != "stdout":
		s.fault("format", `"cloudevents_binary" is for outputs of kind http: it puts the event's attributes into HTTP headers`,
			"Write cloudevents")
	}
}

// checkSingle sees to it that a request carries one event where it says more of it than a body does. The reasons other
// than the format are those of HTTP alone.
func checkSingle(s *scope, out *Output) {
	why, mend := "", ""
	switch {
	case out.Format == binaryFormat:
		why, mend = "format="+binaryFormat+": its headers tell of one event", s.named("format")+"=cloudevents"
	case out.Kind == "http" && out.URL.template():
		why, mend = "a template in url: a URL is that of one event", "take the braces out of "+s.named("url")
	case out.Kind == "http" && len(out.Methods) > 0:
		why, mend = "methods__…: a method is that of one event", s.prefix+"method instead"
	}
	switch {
	case why == "" || !s.ok("format", "batch"):
	case !s.has("batch"):
		out.Batch = 1
	case out.Batch > 1:
		s.fault("batch", "must be 1 with "+why, "Write 1, or "+mend)
	}
}

// checkType sees to it that a type holds no other placeholder than the one that the mode fills in.
func checkType(s *scope, text string) {
	if text == "" || s.mode == "" || !s.ok("type") {
		return
	}
	placeholder := "{op}"
	if s.mode.Can(mode.Events) {
		placeholder = "{event_type}"
	}
	if strings.ContainsAny(strings.ReplaceAll(text, placeholder, ""), "{}") {
		s.fault("type", fmt.Sprintf("%q holds a brace: with source__mode=%s, %s is what is filled in, and nothing else",
			text, s.mode, placeholder),
			"Write such as com.example.order."+placeholder)
	}
}
