package webhook

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/plainhttp"
)

// Config is what an Output needs. The comments name the settings that it comes from.
type Config struct {
	// URL is output__url: absolute, http or https, a template after its host. User info in it becomes basic
	// authentication.
	URL string
	// Method is output__method, "" for POST; Methods are output__methods__<op>.
	Method  string
	Methods map[string]string
	// Every is the least time from one request to the next (output__rate); 0 for none.
	Every time.Duration
	// Certificate is output__client_certificate: PEM of a certificate and its key; "" for none.
	Certificate string
	// Authorize puts itself before the transport (output__auth); nil for nobody.
	Authorize func(http.RoundTripper) http.RoundTripper
	// Headers are output__headers__<Name>, sent with each request.
	Headers map[string]string
	// Secret is output__secret: "whsec_" and base64, or any other text, whose bytes are the key. "" means no signature.
	Secret string
	// Gzip is output__gzip.
	Gzip bool
	// Several is output__several_per_key: what follows an event that the receiver names, in its order key, failed as well.
	Several bool
	// Format is output__format.
	Format change.Format
	// Single says that output__batch is 1: requests hold the format's single form.
	Single bool
	// Concurrency is how many requests may be in flight: so many connections are kept.
	Concurrency int
	// Version goes into User-Agent: rowrelay/<version>.
	Version string
	// Doubt is told once where a 2xx may come from something else than a receiver; nil: nobody is.
	Doubt func(text string)
}

// Output implements poller.Output. It is safe for concurrent use.
type Output struct {
	origin    string // scheme://host, for people: path and query may hold secrets
	format    change.Format
	single    bool
	gzip      bool
	several   bool
	key       []byte // of the signature; nil for none
	static    http.Header
	blank     *http.Request // what all requests have in common
	secrets   redactor
	route     route
	transport *http.Transport
	plain     *plainhttp.Transport // before transport
	through   http.RoundTripper    // plain, and what stands before it
	doubt     func(string)
	doubted   atomic.Bool
}

// route is what of a request depends on its event: the URL and the method.
type route struct {
	url     output.Template // no Names: the same URL for all
	method  string
	methods map[string]string // by operation
}

// redactor takes the configured secrets out of what a receiver answered: an error page likes to quote the request.
type redactor struct{ replace *strings.Replacer }
