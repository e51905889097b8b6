package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/templates"
	"github.com/rowrelay/rowrelay/wholefile"
)

// The functions of the status page.
const (
	StatusFunction  = "status"
	ActionsFunction = "statusactions"
)

// Function is one folder with a function.json.
type Function struct {
	Name    string
	Note    string // what starts it, for people
	Content []byte // of its function.json
}

// FunctionsOf are the functions of a poller: its timer, for an outbox its clean-up, and with fan-out its partitions.
func FunctionsOf(p *config.Poller) []Function {
	variable := strings.ToUpper(p.Name) + "_SCHEDULE"
	list := []Function{{p.Name, "its schedule is the app setting " + variable, templates.Poller(variable)}}
	if schedule := p.Source.CleanupSchedule; schedule != "" && p.Source.Mode.Can(mode.Marks) {
		list = append(list, Function{p.Name + mode.CleanupSuffix, "its schedule is " + schedule,
			templates.Cleanup(schedule)})
	}
	if s := &p.Source; FansOut(p) {
		list = append(list, Function{
			p.Name + mode.PartitionSuffix, "it reads the queue " + s.FanoutQueue + " of " + s.FanoutSetting,
			templates.Partition(s.FanoutQueue, s.FanoutSetting),
		})
	}
	return list
}

// PageFunctions are the functions of the status page.
func PageFunctions() []Function {
	return []Function{
		{StatusFunction, "it answers GET /api/status and /api/status.json to whoever has a function key", templates.Status()},
		{ActionsFunction, "it carries out what the status page's buttons ask, for whoever has the admin key",
			templates.StatusActions()},
	}
}

// FansOut reports whether a poller has a function that a queue message starts.
func FansOut(p *config.Poller) bool {
	return p.Source.Mode.Can(mode.Fanout) && p.Source.FanoutQueue != ""
}

// RefusedName says why the host runs no function of a poller's name; nil where it does. Without the host any name will
// do.
func RefusedName(name string) error {
	if name != "host" { // the only one that a poller can have and a function cannot
		return nil
	}
	return errors.New("the Functions host refuses a function named host, so a poller of that name never runs under it: add its settings once " +
		"more under a new name, take its position along with `rowrelay state clone host <its new name>`, then remove pollers__host__…")
}

// Leftovers say which functions of a poller are there that its settings do not ask for: the host would run them.
func (a App) Leftovers(p *config.Poller) (list []string) {
	if name := p.Name + mode.PartitionSuffix; p.Source.Mode.Can(mode.Fanout) && p.Source.FanoutQueue == "" &&
		a.HasFunction(name) {
		list = append(list, fmt.Sprintf("%s/ is left over: %s is not set, and every message that the host still finds for it would fail; remove the folder",
			name, p.Setting("source__fanout_queue")))
	}
	if name := p.Name + mode.CleanupSuffix; p.Source.Mode.Can(mode.Marks) && p.Source.CleanupSchedule == "" &&
		a.HasFunction(name) {
		list = append(list, fmt.Sprintf("%s/ is left over: %s=none, and under the Functions host it goes on deleting published events; remove the folder",
			name, p.Setting("source__cleanup_schedule")))
	}
	return list
}

// WriteFunction writes a function's function.json. One that exists is left alone, and written is false, unless force is
// set.
func (a App) WriteFunction(f *Function, force bool) (path string, written bool, err error) {
	path = a.functionPath(f.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return path, false, err
	}
	written, err = write(path, f.Content, force)
	return path, written, err
}

// WriteFile writes host.json where there is none. One that is there may hold what other functions need: it is never
// overwritten. queues says that the app has queue triggers.
func (a App) WriteFile(queues bool) (path string, written bool, err error) {
	path = filepath.Join(a.Root, "host.json")
	written, err = write(path, templates.Host(queues), false)
	return path, written, err
}

// write writes a file, or leaves it alone where it exists and force is not set.
func write(path string, content []byte, force bool) (written bool, err error) {
	_, err = os.Lstat(path)
	switch {
	case err == nil && !force:
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if err := wholefile.Write(path, content, 0o644); err != nil {
		return false, err
	}
	return true, nil
}

// MakeStateDirectory makes the directory of the file store where the host would see it come: below the folder of
// host.json. A store elsewhere makes its own, on the machine where it is used. path is "" where nothing was made.
func (a App) MakeStateDirectory(s *config.State) (path string, err error) {
	if s.Kind != "file" || !filepath.IsLocal(s.Path) || filepath.Clean(s.Path) == "." {
		return "", nil
	}
	path = filepath.Join(a.Root, s.Path)
	if _, err := os.Stat(path); err == nil {
		return "", nil
	}
	if err := os.MkdirAll(path, 0o750); err != nil {
		return "", fmt.Errorf("state__path: %w", err)
	}
	return path, nil
}
