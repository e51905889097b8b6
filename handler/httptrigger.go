package handler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// HTTP functions are answered by an http.Handler (see Config.HTTP). With enableForwardingHttpRequest and
// enableProxyingHttpRequest off, as in our host.json, the host does not pass the request on: it posts a description of
// it like any other invocation, and makes the response of what stands in Outputs (azure-functions-host at 89dc438:
// WebJobs.Script/Extensions/HttpRequestExtensions.cs GetRequestAsJObject,
// Workers/Http/HttpScriptInvocationResultExtensions.cs, Binding/Http/HttpBinding.cs and RawScriptResult.cs).
//
// That has limits, none of which the status page meets: a request body sent in chunks does not arrive, a repeated
// header of the response is dropped but for one, and a body that is exactly a date would be rewritten.

// httpBinding is the name of the output binding in function.json.
const httpBinding = "res"

// hostRequest is the value of an HTTP trigger.
type hostRequest struct {
	URL     string `json:"Url"`
	Method  string
	Headers map[string]json.RawMessage // lists of strings
	// Identities are a list; the documentation's examples have it as JSON text in a string.
	Identities json.RawMessage
	// Body is a string: of octet-stream and multipart base64, of everything else the text.
	Body json.RawMessage
}

type hostIdentity struct {
	Claims []hostClaim
}

type hostClaim struct {
	Type, Value string
}

// authLevelClaim is the claim by which the host itself judges a function's authLevel
// (AuthUtility.PrincipalHasAuthLevelClaim).
const authLevelClaim = "http://schemas.microsoft.com/2017/07/functions/claims/authlevel"

// adminHeader tells an http.Handler that the host has seen the admin key. A header of that name from outside is taken
// out.
const adminHeader = "Rowrelay-Host-Admin"

// httpAnswer is the answer to an HTTP function's invocation.
type httpAnswer struct {
	Outputs map[string]httpOutput
}

// httpOutput becomes the response. The names are those of the host's HttpOutputBindingResponse; the status is a string
// there.
type httpOutput struct {
	StatusCode string            `json:"statusCode"`
	Body       string            `json:"body"`
	Headers    map[string]string `json:"headers"`
}

// isHTTP says whether a function is an HTTP function. A poller's own name comes first.
func (h *Handler) isHTTP(function string) bool {
	_, poller := h.pollers[function]
	return !poller && h.http[function] != nil
}

// invokeHTTP answers the invocation of an HTTP function. Where the handler fails, the response says so: the invocation
// itself is failed only when it cannot be read.
func (h *Handler) invokeHTTP(w http.ResponseWriter, r *http.Request, function string, body []byte) {
	request, err := httpRequest(r, body)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	response := h.serveHTTP(request, function)
	headers := make(map[string]string, len(response.header))
	for name, values := range response.header {
		if name != "Content-Length" { // the host's own
			headers[name] = strings.Join(values, ", ")
		}
	}
	text, err := json.Marshal(httpAnswer{map[string]httpOutput{httpBinding: {
		StatusCode: strconv.Itoa(response.code), Body: response.body.String(), Headers: headers,
	}}})
	if err != nil { // strings only
		h.write(w, http.StatusInternalServerError, answer{Error: "the answer could not be encoded"})
		return
	}
	h.send(w, http.StatusOK, text)
}

// serveHTTP runs the function's handler; one that panicked has answered 500.
func (h *Handler) serveHTTP(r *http.Request, function string) (w *recorder) {
	w = newRecorder()
	defer func() {
		if p := recover(); p != nil {
			h.log.ErrorContext(r.Context(), "an HTTP function panicked; the process goes on", "function", function, "error",
				fmt.Sprint(p),
				"stack", string(debug.Stack()), "next", "report this with the stack as a bug of rowrelay")
			// The headers that it had set for every answer stay; what it had begun to say of its own does not.
			header := w.header
			w = newRecorder()
			w.header = header
			for _, own := range []string{"Set-Cookie", "Location", "Content-Encoding"} {
				header.Del(own)
			}
			http.Error(w, "the function panicked", http.StatusInternalServerError)
		}
	}()
	h.http[function].ServeHTTP(w, r)
	return w
}

// recorder keeps a response.
type recorder struct {
	header http.Header
	code   int
	wrote  bool
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, code: http.StatusOK} }

// Header is what will be sent.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader keeps the first status.
func (w *recorder) WriteHeader(code int) {
	if !w.wrote {
		w.code, w.wrote = code, true
	}
}

// Write keeps the body.
func (w *recorder) Write(p []byte) (int, error) {
	w.wrote = true
	return w.body.Write(p)
}

// httpRequest makes the request that the host describes.
func httpRequest(r *http.Request, body []byte) (*http.Request, error) {
	var described hostRequest
	if err := json.Unmarshal(inner(triggerOf(body)), &described); err != nil || described.URL == "" {
		return nil, errors.New("the invocation holds no HTTP request: its function.json must have one httpTrigger, and host.json must " +
			"leave enableForwardingHttpRequest and enableProxyingHttpRequest off")
	}
	target, err := url.Parse(described.URL)
	if err != nil {
		return nil, errors.New("the HTTP request has an address that cannot be read")
	}
	var text string
	if len(described.Body) > 0 && json.Unmarshal(described.Body, &text) != nil {
		text = string(described.Body) // JSON that some version has parsed already
	}
	request, err := http.NewRequestWithContext(r.Context(), described.Method, target.String(),
		bytes.NewReader([]byte(text)))
	if err != nil {
		return nil, errors.New("the HTTP request cannot be read")
	}
	for name, raw := range described.Headers {
		var values []string
		if json.Unmarshal(raw, &values) != nil {
			values = []string{scalar(raw)}
		}
		for _, value := range values {
			request.Header.Add(name, value)
		}
	}
	request.Host, request.RequestURI = target.Host, target.RequestURI()
	request.Header.Del(adminHeader)
	var identities []hostIdentity
	if json.Unmarshal(inner(described.Identities), &identities) == nil && slices.ContainsFunc(identities, isAdmin) {
		request.Header.Set(adminHeader, "1")
	}
	return request, nil
}

func isAdmin(identity hostIdentity) bool {
	return slices.Contains(identity.Claims, hostClaim{authLevelClaim, "Admin"})
}

// RequireAdmin lets only those requests of an HTTP function pass for which the host has seen the admin key. The
// function's authLevel asks for it already; this holds when somebody changes that line of function.json.
func RequireAdmin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(adminHeader) == "" {
			http.Error(w, "the admin key is needed: this function's authLevel must be admin, and the key sent in x-functions-key", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
