package webhook

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// placeholders are what a URL may name; {row.<column>} stands for the others.
var placeholders = []string{"key", "op", "app", "poller", "event_type", "aggregate_type", "aggregate_id",
	rowPrefix + "<column>"}

const rowPrefix = "row."

// newRoute reads the template. The URL that comes with it is that of an event without a name to itself: its scheme and
// host are those of every event, because placeholders stand behind them only.
func newRoute(cfg Config) (route, *url.URL, error) {
	const mend = "output__url is not an absolute http or https URL: write https://host/path"
	r := route{method: cmp.Or(cfg.Method, http.MethodPost), methods: cfg.Methods}
	t, err := output.ParseTemplate(cfg.URL, placeholders, func(name string) bool {
		return strings.HasPrefix(name, rowPrefix) && name != rowPrefix
	})
	if err != nil && cfg.URL != "" {
		return r, nil, fmt.Errorf("output__url: %w", err)
	}
	r.url = t
	// The parser's errors quote the URL, which may hold a function key.
	u, err := url.Parse(strings.Join(t.Texts, "x"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return r, nil, errors.New(mend)
	}
	if len(t.Names) == 0 {
		return r, u, r.complete(cfg.Single)
	}
	fixed, err := url.Parse(t.Texts[0])
	if err != nil || fixed.Host != u.Host || fixed.Path == "" && !strings.Contains(t.Texts[0], "?") {
		return r, nil, errors.New("output__url has a placeholder in its host or before it: the host must be fixed, so that no row chooses it")
	}
	if dotted(u.EscapedPath()) {
		return r, nil, errors.New("output__url has a . or .. between its slashes: write the path without them")
	}
	return r, u, r.complete(cfg.Single)
}

// complete refuses what has no one event to ask.
func (r *route) complete(single bool) error {
	switch {
	case len(r.url.Names)+len(r.methods) > 0 && !single:
		return errors.New("output__url with a placeholder, and output__methods__…, are about one event: set output__batch=1")
	case len(r.url.Names) == 0 && (r.method == http.MethodDelete ||
		slices.Contains(slices.Collect(maps.Values(r.methods)), http.MethodDelete)):
		return errors.New("a DELETE has no body, so that only its URL says of which row: put {key} into output__url")
	}
	return nil
}

// direct puts the event's method and URL into req. A DELETE loses its body, which means nothing there (RFC 9110,
// 9.3.5), and which some servers refuse.
func (o *Output) direct(req *http.Request, d *change.Delivery) *poller.DeliveryError {
	r, e := &o.route, &d.Events[0]
	req.Method = cmp.Or(r.methods[e.Op.String()], r.method)
	if req.Method == http.MethodDelete {
		req.Body, req.GetBody, req.ContentLength = http.NoBody, nil, 0
		delete(req.Header, "Content-Type")
		delete(req.Header, "Content-Encoding")
		if o.key != nil {
			h := req.Header
			h[headerWebhookSignature] = []string{sign(o.key, h[headerWebhookID][0], h[headerWebhookTimestamp][0], nil)}
		}
	}
	if len(r.url.Names) == 0 {
		return nil
	}
	u, err := r.expand(d, e)
	var missing *missingColumn
	switch {
	case errors.As(err, &missing):
		failed := poller.FailAll(1, poller.Misplaced, 0, fmt.Errorf("event %s: %w", e.ID, err))
		failed.Remedy = "write a column that the event carries into output__url, or let source__columns and output__columns keep it"
		return failed
	case err != nil:
		return poller.FailAll(1, poller.Impossible, 0, fmt.Errorf("event %s: %w", e.ID, err))
	}
	u.User, u.Fragment = nil, ""
	req.URL = u
	return nil
}

// missingColumn: the rows have no such column. That is the template's fault, and no event's.
type missingColumn struct{ name string }

func (m *missingColumn) Error() string {
	return fmt.Sprintf("output__url names {%s%s}, and the row has no such column", rowPrefix, m.name)
}

// expand returns the URL of an event. A value is escaped for where it stands, and brings no "." or ".." into the path,
// however the receiver reads its escapes.
func (r *route) expand(d *change.Delivery, e *change.Event) (*url.URL, error) {
	var b strings.Builder
	escape := url.PathEscape
	for i, literal := range r.url.Texts {
		b.WriteString(literal)
		if i == len(r.url.Names) {
			break
		}
		if strings.Contains(literal, "?") {
			escape = url.QueryEscape
		}
		values, err := valuesOf(r.url.Names[i], d, e)
		if err != nil {
			return nil, err
		}
		for j, value := range values {
			if value == "" {
				return nil, fmt.Errorf("its URL needs {%s}, which is empty", r.url.Names[i])
			}
			if j > 0 {
				b.WriteByte(',') // no value has one: it would be escaped
			}
			b.WriteString(escape(value))
		}
	}
	u, err := url.Parse(b.String())
	if err != nil {
		return nil, errors.New("its URL cannot be read") // the error quotes the URL
	}
	if dotted(u.EscapedPath()) {
		return nil, errors.New("a value would bring . or .. into the path of its URL")
	}
	return u, nil
}

// dotted reports whether a path has a segment . or .., also where escaped slashes separate segments.
func dotted(path string) bool {
	plain, err := url.PathUnescape(path)
	return err != nil || slices.ContainsFunc(strings.FieldsFunc(plain, func(r rune) bool { return r == '/' || r == '\\' }),
		func(segment string) bool { return segment == "." || segment == ".." })
}

// valuesOf are what a placeholder stands for: those of the columns of {key}, else one.
func valuesOf(name string, d *change.Delivery, e *change.Event) ([]string, error) {
	column, isColumn := strings.CutPrefix(name, rowPrefix)
	switch {
	case name == "key":
		_, values, err := members(e.Key)
		return values, err
	case !isColumn:
		return []string{output.ValueOf(name, d, e)}, nil
	}
	names, values, err := members(e.Row)
	if err != nil {
		return nil, err
	}
	at := slices.Index(names, column)
	if at < 0 {
		at = slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, column) })
	}
	switch {
	case at >= 0:
		return values[at : at+1], nil
	case e.Op == change.Delete: // of which nothing but the key may be known
		return nil, fmt.Errorf("its URL needs {%s}, and a delete does not carry it: use {key}", name)
	}
	return nil, &missingColumn{column}
}

// members are the names and the values of a JSON object, in its order. A text is itself, null is "", and whatever else
// is its JSON.
func members(object []byte) (names, values []string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return nil, nil, errors.New("its URL needs a row, and it has none")
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, nil, err
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, nil, err
		}
		value := string(raw)
		switch {
		case value == "null":
			value = ""
		case raw[0] == '"':
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, nil, err
			}
		}
		text, _ := name.(string) // a member's name
		names, values = append(names, text), append(values, value)
	}
	return names, values, nil
}

// paced lets requests through one after the other, at one rate for all that share it.
type paced struct {
	http.RoundTripper

	limit *rate.Limiter
}

func (p paced) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := p.limit.Wait(req.Context()); err != nil {
		return nil, fmt.Errorf("output__rate: %w", err)
	}
	return p.RoundTripper.RoundTrip(req)
}

// certificates are what the receiver is shown; nil for nothing.
func certificates(pem string, u *url.URL) (*tls.Config, error) {
	if pem == "" {
		return nil, nil //nolint:nilnil // net/http's own
	}
	if u.Scheme != "https" {
		return nil, errors.New("output__client_certificate needs an https URL in output__url")
	}
	pair, err := output.ClientCertificate(pem)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
