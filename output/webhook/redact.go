package webhook

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/plaintext"
)

// shortest is the length below which a value is no secret (a header value "1", a query value "true"): replacing it
// would only garble the text.
const shortest = 6

func newRedactor(cfg Config, u *url.URL) redactor {
	var secrets []string
	add := func(values ...string) {
		for _, v := range values {
			if len(v) >= shortest {
				secrets = append(secrets, v, url.QueryEscape(v), url.PathEscape(v))
			}
		}
	}
	add(cfg.Secret, strings.TrimPrefix(cfg.Secret, "whsec_"), u.RawQuery, u.Fragment)
	for _, values := range u.Query() {
		add(values...)
	}
	for _, v := range cfg.Headers {
		add(v)
		_, credentials, _ := strings.Cut(v, " ") // Bearer …, Basic …
		add(credentials)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		add(u.User.Username(), password, u.User.String(), basic(u.User))
	}
	// The longest first: a part must not be replaced inside the whole, leaving the rest of it behind.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, "***")
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// failure returns an error with a text without secrets; err stays reachable.
func (o *Output) failure(err error, format string, args ...any) error {
	return output.Errorf(err, "%s", o.secrets.replace.Replace(fmt.Sprintf(format, args...)))
}

const (
	excerptRead = 4 << 10
	excerptMax  = 256
)

// excerpt returns the beginning of an answer as one printable line without secrets, the token of its request included.
func (o *Output) excerpt(resp *http.Response) string {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, excerptRead)) // what could be read is shown
	text := o.secrets.replace.Replace(string(raw))
	if resp.Request != nil {
		if _, token, ok := strings.Cut(resp.Request.Header.Get("Authorization"), " "); ok && len(token) >= shortest {
			text = strings.ReplaceAll(text, token, "***")
		}
	}
	return plaintext.Cut(plaintext.Line(text), excerptMax)
}
