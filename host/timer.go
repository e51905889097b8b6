package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/schedule"
)

// FunctionFile is what Rowrelay reads of a function.json.
type FunctionFile struct {
	Retry    json.RawMessage `json:"retry"`
	Disabled bool            `json:"disabled"`
	Bindings []Binding       `json:"bindings"`
}

// Binding is one of a [FunctionFile].
type Binding struct {
	Type         string `json:"type"`
	RunOnStartup bool   `json:"runOnStartup"`
	UseMonitor   *bool  `json:"useMonitor"`
	AuthLevel    string `json:"authLevel"`
	Schedule     string `json:"schedule"`
	Queue        string `json:"queueName"`
	Connection   string `json:"connection"`
}

// Trigger is the binding of a type; nil where there is none.
func (f *FunctionFile) Trigger(kind string) *Binding {
	for i := range f.Bindings {
		if strings.EqualFold(f.Bindings[i].Type, kind) {
			return &f.Bindings[i]
		}
	}
	return nil
}

func (a App) functionPath(name string) string { return filepath.Join(a.Root, name, "function.json") }

// HasFunction reports whether a function has a function.json.
func (a App) HasFunction(name string) bool {
	_, err := os.Stat(a.functionPath(name))
	return err == nil
}

// FunctionFile reads the function.json of a function. fs.ErrNotExist means that there is no such file.
func (a App) FunctionFile(name string) (FunctionFile, error) {
	var file FunctionFile
	text, err := os.ReadFile(a.functionPath(name))
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	return file, err
}

// TimerText returns the schedule of a timer function, as its function.json has it. fs.ErrNotExist means that there is
// no such file.
func (a App) TimerText(name string) (string, error) {
	path := a.functionPath(name)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var file struct { // of a timer nothing else matters here
		Bindings []struct{ Type, Schedule string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	for _, b := range file.Bindings {
		if strings.EqualFold(b.Type, "timerTrigger") {
			return b.Schedule, nil
		}
	}
	return "", fmt.Errorf("%s has no timerTrigger binding: write it anew with rowrelay functions --force", path)
}

// Timer is when the host starts a poller's ticks.
type Timer struct {
	Schedule *schedule.Schedule // nil where Problem says why
	Text     string             // for people
	Problem  string
}

// Timer reads a poller's timer from its function.json, with %NAME% resolved as the host does.
func (a App) Timer(name string) (Timer, error) {
	text, err := a.TimerText(name)
	if err != nil {
		return Timer{}, err
	}
	t := Timer{Text: text}
	if inner, ok := strings.CutPrefix(text, "%"); ok && strings.HasSuffix(inner, "%") {
		setting := strings.TrimSuffix(inner, "%")
		if strings.Contains(setting, "__") {
			t.Problem = fmt.Sprintf("%s/function.json: its schedule is the app setting %s, which the host does not find: in a "+
				"name in function.json it takes __ for a colon; rename the setting, for example to %s_SCHEDULE", name, setting,
				strings.ToUpper(name))
			return t, nil
		}
		text = a.Env(setting)
		if text == "" {
			t.Problem = fmt.Sprintf("%s/function.json: its schedule is the app setting %s, which is not set: set it, for example to */10 * * * * *", name, setting)
			return t, nil
		}
		t.Text = text + " (app setting " + setting + ")"
	}
	if t.Schedule, err = schedule.Parse(text); err != nil {
		t.Problem = fmt.Sprintf("%s/function.json: schedule: %v", name, err)
	}
	return t, nil
}

// unknownPeriod is taken for a timer's where its function.json does not say it.
const unknownPeriod = time.Minute

// TimerPeriod is the longest time between two runs of a poller's timer function.
func (a App) TimerPeriod(name string) time.Duration {
	if t, err := a.Timer(name); err == nil && t.Schedule != nil {
		if gap, ok := t.Schedule.LongestGap(); ok {
			return gap
		}
	}
	return unknownPeriod
}
