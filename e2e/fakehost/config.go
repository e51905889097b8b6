package fakehost

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// hostConfig is what host.json says, after the settings that override it.
type hostConfig struct {
	executable string // relative to the root
	directory  string
	arguments  []string
	timeout    time.Duration // functionTimeout; 0 when unbounded
	bundle     bool
}

// readHostConfig reads host.json.
func readHostConfig(root string, settings settings) (hostConfig, error) {
	var file struct {
		Version         string
		FunctionTimeout string
		ExtensionBundle *struct{ ID, Version string }
		CustomHandler   *struct {
			Description struct {
				DefaultExecutablePath, WorkingDirectory string
				Arguments                               []string
			}
			Port any
			HTTP struct{ Routes []any }
		}
	}
	data, err := os.ReadFile(filepath.Join(root, "host.json"))
	if err != nil {
		return hostConfig{}, fmt.Errorf("fakehost: read host.json: %w", err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return hostConfig{}, fmt.Errorf("fakehost: read host.json: %w", err)
	}
	switch {
	case file.Version != "2.0":
		return hostConfig{}, fmt.Errorf(`fakehost: host.json: version is %q, want "2.0"`, file.Version)
	case file.CustomHandler == nil:
		return hostConfig{}, errors.New("fakehost: host.json has no customHandler")
	case file.CustomHandler.Port != nil:
		return hostConfig{}, errors.New("fakehost: host.json: customHandler.port fixes the port: leave it out")
	case len(file.CustomHandler.HTTP.Routes) > 0:
		return hostConfig{}, errors.New("fakehost: host.json: customHandler.http.routes excludes function.json files: leave it out")
	}
	description := file.CustomHandler.Description
	cfg := hostConfig{
		executable: settings.override(description.DefaultExecutablePath, "customHandler", "description",
			"defaultExecutablePath"),
		directory: settings.override(description.WorkingDirectory, "customHandler", "description", "workingDirectory"),
		arguments: description.Arguments,
		bundle:    file.ExtensionBundle != nil && file.ExtensionBundle.ID != "" && file.ExtensionBundle.Version != "",
	}
	if !filepath.IsAbs(cfg.directory) {
		cfg.directory = filepath.Join(root, cfg.directory)
	}
	if err := checkExecutable(root, cfg.executable); err != nil {
		return hostConfig{}, err
	}
	cfg.timeout, err = parseTimeout(settings.override(file.FunctionTimeout, "functionTimeout"))
	return cfg, err
}

// checkExecutable plays the publishing tool as well as the host: the zip entry's name is compared byte for byte.
func checkExecutable(root, name string) error {
	switch {
	case name == "":
		return errors.New("fakehost: host.json: customHandler.description.defaultExecutablePath is missing")
	case strings.Contains(name, "./") || strings.Contains(name, `\`):
		return fmt.Errorf("fakehost: host.json: defaultExecutablePath is %q: the publishing tool sets the execute bit only on the "+
			"entry of exactly that name, so it must be written without \"./\"", name)
	}
	info, err := os.Stat(filepath.Join(root, name))
	if err != nil {
		return fmt.Errorf("fakehost: defaultExecutablePath: %w", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("fakehost: defaultExecutablePath: %s is not an executable file", name)
	}
	return nil
}

// parseTimeout reads functionTimeout: empty is the 30 minutes of most plans, -1 none.
func parseTimeout(text string) (time.Duration, error) {
	switch text {
	case "":
		return 30 * time.Minute, nil
	case "-1":
		return 0, nil
	}
	d, err := parseTimeSpan(text)
	if err != nil {
		return 0, fmt.Errorf("fakehost: host.json: functionTimeout: %w", err)
	}
	return d, nil
}

// parseTimeSpan reads a .NET TimeSpan: hh:mm:ss, with a fraction or days.
func parseTimeSpan(text string) (time.Duration, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return 0, fmt.Errorf("%q is not hh:mm:ss", text)
	}
	days, hours, found := strings.Cut(parts[0], ".")
	if !found {
		days, hours = "0", parts[0]
	}
	var total float64
	for _, part := range []struct {
		text string
		unit time.Duration
	}{{days, 24 * time.Hour}, {hours, time.Hour}, {parts[1], time.Minute}, {parts[2], time.Second}} {
		n, err := strconv.ParseFloat(part.text, 64)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%q is not hh:mm:ss", text)
		}
		total += n * float64(part.unit)
	}
	return time.Duration(total), nil
}

// settings are the app settings. The host compares their names without regard to case.
type settings map[string]string

func (s settings) lookup(name string) (string, bool) {
	for key, value := range s {
		if strings.EqualFold(key, name) {
			return value, true
		}
	}
	return "", false
}

// override returns the app setting that overrides a value of host.json, or the value.
func (s settings) override(value string, path ...string) string {
	if set, ok := s.lookup("AzureFunctionsJobHost__" + strings.Join(path, "__")); ok {
		return set
	}
	return value
}

// LocalSettings returns the Values of the root's local.settings.json, as `func start` would put them into the
// environment.
func LocalSettings(root string) (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(root, "local.settings.json"))
	if err != nil {
		return nil, fmt.Errorf("fakehost: read local settings: %w", err)
	}
	var file struct{ Values map[string]string }
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("fakehost: read local settings: %w", err)
	}
	return file.Values, nil
}
