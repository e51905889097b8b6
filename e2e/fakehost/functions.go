package fakehost

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// function is one indexed function: a folder with a function.json.
type function struct {
	name    string
	trigger string // the trigger's binding name: the member of Data
	kind    string // timerTrigger, queueTrigger, httpTrigger
	http    *endpoint
	retry   *retryPolicy // nil without one
	err     error        // why the host would not index it
}

var functionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,127}$`)

// index reads every <folder>/function.json. A function that the host would refuse is kept with its error: the host
// starts without it.
func index(root string, set settings, bundle bool) (map[string]function, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("fakehost: read the script root: %w", err)
	}
	functions := make(map[string]function)
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(root, entry.Name(), "function.json"))
		if err != nil {
			continue // not a function's folder
		}
		f := function{name: entry.Name()}
		f.err = f.index(data, set, bundle)
		functions[f.name] = f
	}
	return functions, nil
}

func (f *function) index(data []byte, set settings, bundle bool) (err error) {
	if !functionName.MatchString(f.name) {
		return fmt.Errorf("%q is not a valid function name", f.name)
	}
	if strings.EqualFold(f.name, "host") {
		return fmt.Errorf("the function name %q is reserved", f.name)
	}
	var file struct {
		Disabled bool
		Bindings []map[string]any
		Retry    json.RawMessage
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("function.json: %w", err)
	}
	if file.Disabled {
		return errors.New("the function is disabled")
	}
	if f.retry, err = readRetry(file.Retry); err != nil {
		return err
	}
	for _, binding := range file.Bindings {
		for member, value := range binding {
			text, ok := value.(string)
			if !ok {
				continue
			}
			if binding[member], err = resolve(text, set); err != nil {
				return err
			}
		}
		bindingKind, _ := binding["type"].(string)
		bindingName, _ := binding["name"].(string)
		direction, _ := binding["direction"].(string)
		if bindingKind == "" || bindingName == "" || (direction != "in" && direction != "out" && direction != "inout") {
			return errors.New("function.json: each binding needs a type, a name and a direction")
		}
		if !bundle && bindingKind != "timerTrigger" && !strings.HasPrefix(bindingKind, "http") {
			return fmt.Errorf("the binding type %q is not registered: host.json has no extensionBundle", bindingKind)
		}
		if !strings.HasSuffix(bindingKind, "Trigger") {
			continue
		}
		if f.trigger != "" {
			return errors.New("function.json: more than one trigger")
		}
		f.trigger, f.kind = bindingName, bindingKind
		if schedule, _ := binding["schedule"].(string); f.kind == "timerTrigger" {
			if err := checkSchedule(schedule); err != nil {
				return err
			}
		}
	}
	if f.trigger == "" {
		return errors.New("function.json: no trigger")
	}
	return f.route(file.Bindings)
}

var timeSpan = regexp.MustCompile(`^(\d+\.)?\d{1,2}:\d{2}(:\d{2})?$`)

// checkSchedule counts fields only: what each of them may hold is the schedule package's business.
func checkSchedule(schedule string) error {
	if n := len(strings.Fields(schedule)); n == 5 || n == 6 || timeSpan.MatchString(schedule) {
		return nil
	}
	return fmt.Errorf("the schedule expression %q was not recognized as a valid cron expression or timespan", schedule)
}

// resolve replaces every %NAME% by the app setting. The host's configuration holds the setting A__B under another name
// (A:B), so %A__B% is never found.
func resolve(text string, set settings) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "%")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(rest, "%")
		if !closed {
			return "", fmt.Errorf("the '%%' at position %d does not have a closing '%%'", len(before))
		}
		value, ok := set.lookup(name)
		if !ok || strings.Contains(name, "__") {
			return "", fmt.Errorf("'%%%s%%' does not resolve to a value", name)
		}
		out.WriteString(value)
		text = after
	}
}

// retryPolicy is the "retry" of a function.json.
type retryPolicy struct {
	most  int // further attempts; -1: for ever
	first time.Duration
	last  time.Duration // of an exponential back-off; 0: all delays are the first one
}

// retryContext is what a function with a retry policy is told with every attempt, the first included.
type retryContext struct {
	RetryCount    int
	MaxRetryCount int
	Exception     *exception
	Instance      any
	State         struct{}
}

// failed is the exception of a failed invocation.
func failed(function string) *exception {
	of := func(class, message, source string, hresult int, inner *exception) *exception {
		return &exception{
			ClassName: class, Message: message, InnerException: inner, HResult: hresult, Source: source,
			StackTraceString: fmt.Sprintf("   at %s.InvokeAsync(Object instance, Object[] arguments)\r\n"+
				"--- End of stack trace from previous location ---\r\n   at %s", source, class),
		}
	}
	return of("Microsoft.Azure.WebJobs.Host.FunctionInvocationException",
		"Exception while executing function: Functions."+function,
		"Microsoft.Azure.WebJobs.Host", -2146233088,
		of("System.Net.Http.HttpRequestException",
			"Response status code does not indicate success: 500 (Internal Server Error).",
			"System.Net.Http", -2146233088, nil))
}

// readRetry reads the policy; nil where there is none.
func readRetry(raw json.RawMessage) (*retryPolicy, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil //nolint:nilnil // no policy is no error
	}
	var file struct {
		Strategy                         string
		MaxRetryCount                    *int
		DelayInterval                    string
		MinimumInterval, MaximumInterval string
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("function.json: retry: %w", err)
	}
	if file.MaxRetryCount == nil {
		return nil, fmt.Errorf("function.json: retry: maxRetryCount is missing")
	}
	policy := &retryPolicy{most: *file.MaxRetryCount}
	var err error
	switch file.Strategy {
	case "fixedDelay":
		policy.first, err = parseTimeSpan(file.DelayInterval)
	case "exponentialBackoff":
		if policy.first, err = parseTimeSpan(file.MinimumInterval); err == nil {
			policy.last, err = parseTimeSpan(file.MaximumInterval)
		}
	default:
		return nil, fmt.Errorf("function.json: retry: strategy %q", file.Strategy)
	}
	if err != nil {
		return nil, fmt.Errorf("function.json: retry: %w", err)
	}
	return policy, nil
}

// endpoint is an httpTrigger.
type endpoint struct {
	level   string // anonymous, function, admin
	methods []string
	pattern *regexp.Regexp // of the path below /api/
	names   []string       // of the route's parameters
	output  string         // the name of the http output binding
}

// route reads the bindings of an HTTP function.
func (f *function) route(bindings []map[string]any) error {
	if f.kind != "httpTrigger" {
		return nil
	}
	f.http = &endpoint{level: "function"}
	route := f.name
	for _, binding := range bindings {
		switch binding["type"] {
		case "http":
			f.http.output, _ = binding["name"].(string)
		case "httpTrigger":
			if level, ok := binding["authLevel"].(string); ok {
				f.http.level = strings.ToLower(level)
			}
			if text, ok := binding["route"].(string); ok {
				route = text
			}
			methods, _ := binding["methods"].([]any)
			for _, m := range methods {
				f.http.methods = append(f.http.methods, strings.ToUpper(fmt.Sprint(m)))
			}
		}
	}
	switch {
	case f.http.level != "anonymous" && f.http.level != "function" && f.http.level != "admin":
		return fmt.Errorf("function.json: authLevel %q", f.http.level)
	case strings.HasPrefix(route, "/"), strings.HasPrefix(route, "admin/"), strings.HasPrefix(route, "runtime/"):
		return fmt.Errorf("the route %q is not valid, or conflicts with one of the host's own", route)
	}
	var pattern []string
	for _, segment := range strings.Split(route, "/") {
		if parameter := routeParameter.FindStringSubmatch(segment); parameter != nil {
			// A constraint that is not anchored may match anywhere in the segment.
			f.http.names = append(f.http.names, parameter[1])
			pattern = append(pattern, "("+strings.TrimSuffix(strings.TrimPrefix(parameter[2], "^"), "$")+")")
			continue
		}
		if strings.ContainsAny(segment, "{}") {
			return fmt.Errorf("the route %q has a parameter that the fake host does not know", route)
		}
		pattern = append(pattern, regexp.QuoteMeta(segment))
	}
	var err error
	f.http.pattern, err = regexp.Compile("(?i)^" + strings.Join(pattern, "/") + "$")
	return err
}

// exception is a .NET exception as Newtonsoft.Json writes it.
type exception struct {
	ClassName, Message     string
	Data                   any
	InnerException         *exception
	HelpURL                any
	StackTraceString       string
	RemoteStackTraceString any
	RemoteStackIndex       int
	ExceptionMethod        any
	HResult                int
	Source                 string
	WatsonBuckets          any
}

var routeParameter = regexp.MustCompile(`^\{([a-zA-Z]+):regex\((.*)\)\}$`)
