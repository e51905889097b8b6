// Package host is what Rowrelay knows of the Azure Functions host: which files it reads, and how a process under it
// starts and stops.
//
//	App      a Function App: the folder of host.json, and the app settings
//	File     host.json, with the app settings that override it
//	Timer    when the host starts a poller's ticks: its function.json
//	Function the functions that a poller needs, as they are written; leftovers; what `func start` lacks
//	Fanout   the queue that hands partitions of an outbox out
//	Stop     how long a process has when the host stops it, and how it asks for another
//
// Nothing here prints: commands do.
package host

import (
	"path/filepath"
	"strings"
)

// App is a Function App as its folder and its app settings show it.
type App struct {
	Root    string   // the folder of host.json
	Environ []string // the app settings, "NAME=value"
}

// AppOf returns the app of a process's environment: the host says where its folder is. Without it, that is the working
// directory.
func AppOf(environ []string) App {
	a := App{Root: ".", Environ: environ}
	if root := a.Env("FUNCTIONS_APP_ROOT_PATH"); root != "" {
		a.Root = filepath.Clean(root)
	}
	return a
}

// Env returns an app setting, "" when it is not set.
func (a App) Env(name string) string {
	for _, pair := range a.Environ {
		if key, value, ok := strings.Cut(pair, "="); ok && key == name {
			return value
		}
	}
	return ""
}

// Port is where the host wants its worker to listen; "" where no host started this process.
func (a App) Port() string {
	if port := a.Env("FUNCTIONS_CUSTOMHANDLER_PORT"); port != "" {
		return port
	}
	return a.Env("FUNCTIONS_HTTPWORKER_PORT") // its first name
}

// EasyAuthSetting is set by App Service where its authentication is on; the host asks the same
// (azure-functions-host, EnvironmentExtensions.IsEasyAuthEnabled).
const EasyAuthSetting = "WEBSITE_AUTH_ENABLED"

// Keyless reports whether the host is that of func start, which asks nobody for a key and takes everybody for an admin
// (azure-functions-core-tools, CliAuthenticationHandler; Program and StartHostAction set these variables).
func (a App) Keyless() bool {
	return a.Env("FUNCTIONS_CORETOOLS_ENVIRONMENT") != "" ||
		strings.EqualFold(a.Env("AZURE_FUNCTIONS_ENVIRONMENT"), "Development")
}
