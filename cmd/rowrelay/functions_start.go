package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/templates"
)

// fansOut reports whether a poller has a function that a queue message starts.
func fansOut(p *config.Poller) bool {
	return p.Source.Mode.Can(mode.Claims) && p.Source.FanoutQueue != ""
}

// writeHost writes host.json where there is none. One that is there may hold what other functions need: it is never overwritten.
func writeHost(c *console, pollers []*config.Poller) error {
	path := filepath.Join(appRoot(c), "host.json")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		_, err = fmt.Fprintf(c.out, "%s exists, left alone\n", path)
		return err
	}
	if err != nil {
		return err
	}
	if _, err := file.Write(templates.Host(slices.ContainsFunc(pollers, fansOut))); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s written; it starts rowrelay beside it\n", path)
	return err
}

// makeStateDirectory makes the directory of the file store where the host would see it come: below the folder of
// host.json. A store elsewhere makes its own, on the machine where it is used.
func makeStateDirectory(c *console, cfg *config.App) error {
	path := cfg.State.Path
	if cfg.State.Kind != "file" || !filepath.IsLocal(path) || filepath.Clean(path) == "." {
		return nil
	}
	path = filepath.Join(appRoot(c), path)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(path, 0o750); err != nil {
		return fmt.Errorf("state__path: %w", err)
	}
	_, err := fmt.Fprintf(c.out, "%s made, for the state\n", path)
	return err
}

// tellStart says what `func start` in this directory still lacks, each with its mend. The settings are those of this machine: what an
// app on Azure has, this command does not see.
func tellStart(c *console, pollers []*config.Poller) error {
	lacks := startLacks(c, pollers)
	p := &printer{w: c.out}
	if len(lacks) == 0 {
		p.line("func start lacks nothing here")
		return p.err
	}
	p.line("func start still lacks here:")
	for _, text := range lacks {
		p.line("  %s", text)
	}
	return p.err
}

// startLacks is what Core Tools and the host refuse to start without, or leave a poller out.
func startLacks(c *console, pollers []*config.Poller) []string {
	host := readHost(appRoot(c), c.environ)
	lacks := host.faults()
	if text := host.lacksProgram(appRoot(c)); text != "" {
		lacks = append(lacks, text)
	}
	if c.settings != "" && filepath.Clean(c.settings) != "local.settings.json" {
		lacks = append(lacks, fmt.Sprintf("local.settings.json: func start reads no other file: copy %s to it", c.settings))
	}
	if !hasStorage(c.environ) {
		lacks = append(lacks, `AzureWebJobsStorage, where the host keeps the timers' leases: write "AzureWebJobsStorage": "UseDevelopmentStorage=true" `+
			"in local.settings.json, and start Azurite")
	}
	if got := c.env("FUNCTIONS_WORKER_RUNTIME"); !strings.EqualFold(got, "custom") {
		what := "FUNCTIONS_WORKER_RUNTIME"
		if got != "" {
			what += " is " + got
		}
		lacks = append(lacks, what+`: write "FUNCTIONS_WORKER_RUNTIME": "custom" in local.settings.json`)
	}
	for _, p := range pollers {
		timer, err := readFunction(appRoot(c), p.Name)
		if err != nil {
			lacks = append(lacks, err.Error())
			continue
		}
		if _, _, problem := timerSchedule(c, timer.Schedule, p.Name); problem != "" {
			lacks = append(lacks, problem)
		}
	}
	return lacks
}

// lacksProgram says what keeps the host from starting what host.json names; "" is nothing, or a fault of host.json.
func (h *hostFile) lacksProgram(root string) string {
	name := h.CustomHandler.Description.Executable
	if h.err != nil || name == "" {
		return ""
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, name)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil || info.IsDir():
		copied := "cp"
		if runtime.GOOS == "windows" {
			copied = "copy"
		}
		from := "the program"
		if own, err := os.Executable(); err == nil {
			from = own
		}
		return fmt.Sprintf("the program %s, which host.json starts: %s %s %s", name, copied, from, path)
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return fmt.Sprintf("the right to execute %s: chmod +x %[1]s", path)
	}
	return ""
}

// hasStorage reports whether the host knows its storage: by a connection string, or by an identity (AzureWebJobsStorage__accountName
// and the like).
func hasStorage(environ []string) bool {
	return slices.ContainsFunc(environ, func(pair string) bool {
		name, value, _ := strings.Cut(strings.ToLower(pair), "=")
		return strings.TrimSpace(value) != "" && (name == "azurewebjobsstorage" || strings.HasPrefix(name, "azurewebjobsstorage__"))
	})
}
