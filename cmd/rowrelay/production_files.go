package main

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/production"
)

// foundFunction is a function as the settings ask for it, and as its function.json is.
func foundFunction(app host.App, fn *host.Function) production.Function {
	found := production.Function{Name: fn.Name}
	found.Have, found.Err = app.FunctionFile(fn.Name)
	if err := json.Unmarshal(fn.Content, &found.Want); err != nil && found.Err == nil {
		found.Err = err
	}
	return found
}

// httpTriggers are the functions of an app that HTTP starts, and each function.json that cannot be read.
func httpTriggers(app host.App) (found []production.HTTPTrigger, unread []string) {
	paths, err := filepath.Glob(filepath.Join(app.Root, "*", "function.json"))
	if err != nil {
		return nil, []string{app.Root}
	}
	for _, path := range paths {
		folder := filepath.Base(filepath.Dir(path))
		file, err := app.FunctionFile(folder)
		if err != nil {
			unread = append(unread, folder+"/function.json")
			continue
		}
		for _, b := range file.Bindings {
			if strings.EqualFold(b.Type, "httpTrigger") {
				found = append(found, production.HTTPTrigger{Function: folder, AuthLevel: b.AuthLevel, Acts: folder == host.ActionsFunction})
			}
		}
	}
	return found, unread
}

// localNames are the settings that local.settings.json, or the file of --settings, holds.
func localNames(c *console) map[string]bool {
	path := c.settings
	if path == "" {
		path = "local.settings.json"
	}
	values, err := config.ReadLocalSettings(path)
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, pair := range values {
		name, _, _ := strings.Cut(pair, "=")
		names[name] = true
	}
	return names
}
