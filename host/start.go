package host

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config"
)

// What host.json needs for fan-out.
const (
	bundleText = `"extensionBundle":{"id":"Microsoft.Azure.Functions.ExtensionBundle","version":"[4.*, 5.0.0)"}`
	queuesText = `"extensions":{"queues":{"maxDequeueCount":1,"maxPollingInterval":"00:00:02"}}`
)

// FanoutLacks are what host.json lacks for queue triggers: without what faults name the host knows none, without what
// warnings name they are slow, or try too often. A host.json that cannot be read has neither.
func (a App) FanoutLacks() (faults, warnings []string) {
	file := a.File()
	if file.Err != nil {
		return nil, nil
	}
	if !file.HasBundle() {
		faults = append(faults, file.Path+" lacks what queue triggers need, an extensionBundle: add "+bundleText)
	}
	queues := &file.Extensions.Queues
	if queues.MaxDequeueCount != 1 {
		warnings = append(warnings, file.Path+": extensions.queues.maxDequeueCount is not 1: a partition that failed is tried "+
			"again at once, and again, although the next timer does it anyway; add "+queuesText)
	}
	if queues.MaxPollingInterval == "" {
		warnings = append(warnings, file.Path+": extensions.queues.maxPollingInterval is missing: the host looks into a queue "+
			"that was empty only once a minute; add "+queuesText)
	}
	return faults, warnings
}

// StartLacks are what Core Tools and the host refuse to start without, or leave a poller out. settings is the file that
// the settings were read from, "" for the usual one. The app settings are those of this machine: those of an app on
// Azure are not seen.
func (a App) StartLacks(pollers []*config.Poller, settings string) []string {
	file := a.File()
	lacks := file.Faults()
	if text := file.lacksProgram(a.Root); text != "" {
		lacks = append(lacks, text)
	}
	if settings != "" && filepath.Clean(settings) != "local.settings.json" {
		lacks = append(lacks, fmt.Sprintf("local.settings.json: func start reads no other file: copy %s to it", settings))
	}
	if !a.hasStorage() {
		lacks = append(lacks, `AzureWebJobsStorage, where the host keeps the timers' leases: write "AzureWebJobsStorage": "UseDevelopmentStorage=true" `+
			"in local.settings.json, and start Azurite")
	}
	if got := a.Env("FUNCTIONS_WORKER_RUNTIME"); !strings.EqualFold(got, "custom") {
		what := "FUNCTIONS_WORKER_RUNTIME"
		if got != "" {
			what += " is " + got
		}
		lacks = append(lacks, what+`: write "FUNCTIONS_WORKER_RUNTIME": "custom" in local.settings.json`)
	}
	if slices.ContainsFunc(pollers, FansOut) {
		faults, warnings := a.FanoutLacks()
		lacks = append(append(lacks, faults...), warnings...)
	}
	for _, p := range pollers {
		timer, err := a.Timer(p.Name)
		if err := file.LeavesOut(p.Name); err != nil {
			lacks = append(lacks, err.Error())
		}
		switch {
		case err != nil:
			lacks = append(lacks, err.Error())
		case timer.Problem != "":
			lacks = append(lacks, timer.Problem)
		}
	}
	return lacks
}

// lacksProgram says what keeps the host from starting what host.json names; "" is nothing, or a fault of host.json.
func (h *File) lacksProgram(root string) string {
	name := h.CustomHandler.Description.Executable
	if h.Err != nil || name == "" {
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

// hasStorage reports whether the host knows its storage: by a connection string, or by an identity
// (AzureWebJobsStorage__accountName and the like).
func (a App) hasStorage() bool {
	return slices.ContainsFunc(a.Environ, func(pair string) bool {
		name, value, _ := strings.Cut(strings.ToLower(pair), "=")
		return strings.TrimSpace(value) != "" &&
			(name == "azurewebjobsstorage" || strings.HasPrefix(name, "azurewebjobsstorage__"))
	})
}
