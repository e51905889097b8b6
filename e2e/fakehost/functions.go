package fakehost

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
