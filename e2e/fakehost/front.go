package fakehost

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What follows was read from Azure/azure-functions-host at 89dc438 (2024-10-25), with both forwarding flags off:
//
//	keys         WebHost/Security/Authentication/Keys/AuthenticationLevelHandler.cs, Authorization/AuthUtility.cs
//	to worker    WebJobs.Script/Extensions/HttpRequestExtensions.cs GetRequestAsJObject,
//	             Workers/MessageExtensions/ScriptInvocationContextExtensions.cs
//	from worker  Workers/Http/HttpScriptInvocationResultExtensions.cs GetHttpOutputBindingResponse, HttpOutputBindingResponse.cs,
//	             Binding/Http/HttpBinding.cs CreateResult, RawScriptResult.cs
//
// Routes are ASP.NET Core's. Played are those that consist of literal segments and of segments {name:regex(…)}.

// Keys are the keys of a function app.
type Keys struct {
	// Master opens everything.
	Master string
	// Function opens functions whose authLevel is function: a host key, as of "default".
	Function string
}

// parameters returns the route's parameters, nil where the path is another.
func (e *endpoint) parameters(path string) map[string]any {
	match := e.pattern.FindStringSubmatch(path)
	if match == nil {
		return nil
	}
	parameters := map[string]any{}
	group := 1
	for _, name := range e.names {
		parameters[name] = match[group]
		group++
	}
	return parameters
}

// Front is the function app as the world sees it: HTTP functions below /api/, and /admin/functions/<name>, which
// calls a function.
func (h *Host) Front() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(r.URL.Path, "/admin/functions/"); ok {
			h.byHand(w, r, name)
			return
		}
		path, ok := strings.CutPrefix(r.URL.Path, "/api/")
		if !ok {
			http.NotFound(w, r)
			return
		}
		h.mu.Lock()
		functions := h.functions // never changed, only replaced
		h.mu.Unlock()
		for _, f := range functions {
			if f.err != nil || f.http == nil || len(f.http.methods) > 0 && !slices.Contains(f.http.methods, r.Method) {
				continue
			}
			if parameters := f.http.parameters(path); parameters != nil {
				h.answerHTTP(w, r, f, parameters)
				return
			}
		}
		http.NotFound(w, r)
	})
}

// level is what the request's key allows, Anonymous, Function or Admin, and the key's name. The header comes first.
func (k Keys) level(r *http.Request) (level, name string) {
	key := r.URL.Query().Get("code")
	if values := r.Header.Values("x-functions-key"); len(values) > 0 {
		key = values[0]
	}
	switch key {
	case "": // it matches no key that the app does not have
		return "Anonymous", ""
	case k.Master:
		return "Admin", "master"
	case k.Function:
		return "Function", "default"
	default:
		return "Anonymous", ""
	}
}

// level is what the request is allowed.
func (h *Host) level(r *http.Request) (level, key string) {
	level, key = h.options.Keys.level(r)
	if h.options.Open { // func start asks for no key
		level = "Admin"
	}
	return level, key
}

// hostClaims are the types by which the host writes down what a key allows.
const hostClaims = "http://schemas.microsoft.com/2017/07/functions/claims/"

type identity map[string]any

// identities are what the request's User has: an empty one of a stranger; otherwise its level, and the name of the
// key if one was given.
func identities(level, key string) []identity {
	who := identity{
		"AuthenticationType": nil, "IsAuthenticated": false, "Actor": nil, "BootstrapContext": nil, "Claims": []any{},
		"Label": nil, "Name": nil,
		"NameClaimType": "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name",
		"RoleClaimType": "http://schemas.microsoft.com/ws/2008/06/identity/claims/role",
	}
	if level != "Anonymous" {
		claim := func(name, value string) map[string]any {
			return map[string]any{
				"Issuer": "LOCAL AUTHORITY", "OriginalIssuer": "LOCAL AUTHORITY", "Properties": map[string]any{},
				"Type": hostClaims + name, "Value": value,
				"ValueType": "http://www.w3.org/2001/XMLSchema#string",
			}
		}
		claims := []any{claim("authlevel", level), claim("invoke", "true")}
		if key != "" {
			claims = append(claims, claim("keyid", key))
		}
		who["AuthenticationType"], who["IsAuthenticated"], who["Claims"] = "WebJobsAuthLevel", true, claims
	}
	return []identity{who}
}

// byHand calls a function for whoever has the master key; the caller is not told how it ends.
func (h *Host) byHand(w http.ResponseWriter, r *http.Request, name string) {
	level, _ := h.level(r)
	var call struct{ Input *string }
	switch err := json.NewDecoder(r.Body).Decode(&call); {
	case level != "Admin":
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		go h.InvokeWith(context.WithoutCancel(r.Context()), name, Invocation{Input: call.Input})
		w.WriteHeader(http.StatusAccepted)
	}
}

func (h *Host) answerHTTP(w http.ResponseWriter, r *http.Request, f function, parameters map[string]any) {
	level, key := h.level(r)
	if f.http.level == "admin" && level != "Admin" || f.http.level == "function" && level == "Anonymous" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, err := describe(r, f, identities(level, key), parameters)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	result := h.invoke(r.Context(), Result{InvocationID: newID(), Attempts: 1}, f, body)
	if !result.Succeeded {
		h.journal.add("host", "HTTP function failed: "+result.Why)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if err := respond(w, result.Outputs, f.http.output); err != nil {
		h.journal.add("host", err.Error())
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// describe is the invocation's body: the request as an object, whose header values are lists, and whose query values
// are strings.
func describe(r *http.Request, f function, who []identity, parameters map[string]any) ([]byte, error) {
	headers := map[string][]string{"Host": {r.Host}}
	flat := map[string]string{"Host": r.Host}
	for name, values := range r.Header {
		headers[name], flat[name] = values, strings.Join(values, ",")
	}
	// the request's own joins repeated values, the binding data takes the last
	query, last := map[string]string{}, map[string]string{}
	for name, values := range r.URL.Query() {
		query[name], last[name] = strings.Join(values, ","), values[len(values)-1]
	}
	request := map[string]any{
		"Url": "http://" + r.Host + r.URL.RequestURI(), "Method": r.Method, "Query": query, "Headers": headers,
		"Params":     parameters,
		"Identities": who,
	}
	binding := bindingData{}
	if r.ContentLength > 0 { // what comes in chunks is not passed on
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("fakehost: read the request: %w", err)
		}
		media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		request["Body"] = string(content)
		if media == "application/octet-stream" || strings.HasPrefix(media, "multipart/") {
			request["Body"] = base64.StdEncoding.EncodeToString(content)
		}
		if err := binding.members(string(content)); err != nil {
			return nil, err
		}
	}
	binding.set("Query", last)
	binding.set("Headers", flat)
	for name, value := range last {
		if !strings.EqualFold(name, "code") { // the key
			if err := binding.text(name, value); err != nil {
				return nil, err
			}
		}
	}
	for name, value := range parameters {
		if err := binding.text(name, fmt.Sprint(value)); err != nil {
			return nil, err
		}
	}
	return encode(map[string]any{f.trigger: request}, binding.and(Invocation{}.metadata(f, time.Now())))
}

// respond makes the response of the output: its status is a string or a number, its body any value, and of a repeated
// header one is left.
func respond(w http.ResponseWriter, outputs map[string]json.RawMessage, name string) error {
	var output struct {
		StatusCode json.RawMessage
		Body       json.RawMessage
		Headers    map[string]any
	}
	raw, ok := outputs[name] // the name's case counts
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := json.Unmarshal(raw, &output); err != nil {
		return errors.New("Failed while trying to Deserialize to httpOutputBindingResponse. Output is not in expected format") //nolint:revive,staticcheck // the host's words
	}
	status, err := strconv.Atoi(strings.Trim(string(output.StatusCode), `"`))
	if err != nil {
		status = http.StatusOK
	}
	for name, value := range output.Headers {
		if value == nil {
			return fmt.Errorf("the header %s is null", name)
		}
		w.Header().Set(name, fmt.Sprint(value))
	}
	var text string
	if err := json.Unmarshal(output.Body, &text); err != nil { // an object is written out, indented
		var indented bytes.Buffer
		if err := json.Indent(&indented, output.Body, "", "  "); err != nil {
			return fmt.Errorf("the body: %w", err)
		}
		text = indented.String()
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client has gone
	return nil
}
