package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/templates"
)

func newFunctions(c *console) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "functions [poller ...]",
		Short: "Write <poller>/function.json for each poller, and host.json",
		Long: `Functions writes, for each poller of the settings, the timer function that the Azure Functions host reads: a folder of
the poller's name with a function.json made from templates/poller.json. Its schedule is the app setting
<POLLER>_SCHEDULE, for example ORDERS_SCHEDULE=*/10 * * * * *. (The host finds no setting whose name contains two
underscores from a function.json.)

For an outbox it also writes <poller>_cleanup, a timer that deletes published events (at source__cleanup_schedule, unless that is
none), and with source__fanout_queue <poller>_partition, which a queue message starts for each partition with work.

Without names it also writes the status page: status, which answers /api/status and /api/status.json to whoever has a function
key, and statusactions, which pauses, resumes and replays for whoever has the admin key (docs/status.md). Remove the folders, and
there is no page.

Where there is no host.json it writes one that starts the file rowrelay beside it. With state__kind=file it makes the directory
of the state, if that lies beside host.json: the host starts anew when a directory appears there, in the middle of the first ticks.
At last it says what "func start" in this directory still lacks: the program, and settings of the host's own.

An existing file is left alone unless --force is given; host.json always is.`,
		RunE: func(_ *cobra.Command, names []string) error { return writeFunctions(c, names, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite existing function.json files")
	return cmd
}

func writeFunctions(c *console, names []string, force bool) error {
	cfg, err := load(c)
	if err != nil {
		return err
	}
	all := len(names) == 0
	if all {
		for _, p := range cfg.Pollers {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return errors.New("the settings name no poller: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	var chosen []*config.Poller
	for _, name := range names {
		p := cfg.Poller(strings.ToLower(name))
		if p == nil {
			return fmt.Errorf("the settings name no poller %q", name)
		}
		if err := refusedName(p.Name); err != nil {
			return err
		}
		chosen = append(chosen, p)
	}
	if err := writeHost(c, chosen); err != nil {
		return err
	}
	if err := makeStateDirectory(c, cfg); err != nil {
		return err
	}
	for _, p := range chosen {
		for _, f := range functionsOf(p) {
			if err := writeFunction(c, &f, force); err != nil {
				return err
			}
		}
		for _, text := range leftovers(c, p) {
			if _, err := fmt.Fprintln(c.out, text); err != nil {
				return err
			}
		}
		if fansOut(p) {
			if err := tellHost(c); err != nil {
				return err
			}
		}
	}
	if all {
		if err := writePage(c, cfg, force); err != nil {
			return err
		}
	}
	return tellStart(c, chosen)
}

// writePage writes the functions of the status page. A poller of the same name comes first, as it does when the host calls: without
// the page it works, and without the poller nothing would.
func writePage(c *console, cfg *config.App, force bool) error {
	for _, f := range []function{
		{statusFunction, "it answers GET /api/status and /api/status.json to whoever has a function key", templates.Status()},
		{actionsFunction, "it carries out what the status page's buttons ask, for whoever has the admin key", templates.StatusActions()},
	} {
		if cfg.Poller(f.name) != nil {
			if _, err := fmt.Fprintf(c.out, "%s/ is the poller's: the status page has no function of that name under the host until the poller is renamed\n", f.name); err != nil {
				return err
			}
			continue
		}
		if err := writeFunction(c, &f, force); err != nil {
			return err
		}
	}
	return nil
}

// function is one folder with a function.json.
type function struct {
	name, note string
	content    []byte
}

// functionsOf are the functions of a poller: its timer, and for an outbox its clean-up and, with fan-out, its partitions.
func functionsOf(p *config.Poller) []function {
	variable := scheduleVariable(p.Name)
	list := []function{{p.Name, "its schedule is the app setting " + variable, templates.Poller(variable)}}
	if !p.Source.Mode.Can(mode.Marks) {
		return list
	}
	if schedule := p.Source.CleanupSchedule; schedule != "" {
		list = append(list, function{p.Name + handler.CleanupSuffix, "its schedule is " + schedule, templates.Cleanup(schedule)})
	}
	if s := &p.Source; fansOut(p) {
		list = append(list, function{
			p.Name + handler.PartitionSuffix, "it reads the queue " + s.FanoutQueue + " of " + s.FanoutSetting, templates.Partition(s.FanoutQueue, s.FanoutSetting),
		})
	}
	return list
}

// leftovers say which functions of an outbox are there that its settings do not ask for: the host would run them.
func leftovers(c *console, p *config.Poller) (list []string) {
	if !p.Source.Mode.Can(mode.Marks) {
		return nil
	}
	left := func(name string) bool {
		_, err := os.Stat(filepath.Join(appRoot(c), name, "function.json"))
		return err == nil
	}
	if name := p.Name + handler.PartitionSuffix; p.Source.FanoutQueue == "" && left(name) {
		list = append(list, fmt.Sprintf("%s/ is left over: %s is not set, and every message that the host still finds for it would fail; remove the folder",
			name, p.Setting("source__fanout_queue")))
	}
	if name := p.Name + handler.CleanupSuffix; p.Source.CleanupSchedule == "" && left(name) {
		list = append(list, fmt.Sprintf("%s/ is left over: %s=none, and under the Functions host it goes on deleting published events; remove the folder",
			name, p.Setting("source__cleanup_schedule")))
	}
	return list
}

// tellHost says what host.json lacks for queue triggers.
func tellHost(c *console) error {
	host := readHost(appRoot(c), c.environ)
	p := &printer{w: c.out}
	if host.err == nil && !host.bundle() {
		p.line("%s lacks what queue triggers need: add %s", host.path, bundleText)
	}
	if host.err == nil && host.Extensions.Queues.MaxDequeueCount != 1 {
		p.line("%s: add %s, so that a partition that failed waits for the next timer", host.path, queuesText)
	}
	if host.err == nil && host.Extensions.Queues.MaxPollingInterval == "" {
		p.line("%s: extensions.queues.maxPollingInterval is missing: the host looks into a queue that was empty once a minute; add %s", host.path, queuesText)
	}
	return p.err
}

func writeFunction(c *console, f *function, force bool) error {
	path := filepath.Join(appRoot(c), f.name, "function.json")
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		_, err = fmt.Fprintf(c.out, "%s exists, left alone (--force overwrites it)\n", path)
		return err
	}
	if err != nil {
		return err
	}
	if _, err := file.Write(f.content); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s written; %s\n", path, f.note)
	return err
}

// scheduleVariable names the app setting of a poller's schedule, as its function.json does.
func scheduleVariable(name string) string { return strings.ToUpper(name) + "_SCHEDULE" }
