package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/production"
)

func readFunctionFile(path string) (production.FunctionFile, error) {
	var file production.FunctionFile
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	return file, err
}

// foundFunction is a function as the settings ask for it, and as its function.json is.
func foundFunction(root string, fn *function) production.Function {
	found := production.Function{Name: fn.name}
	found.Have, found.Err = readFunctionFile(filepath.Join(root, fn.name, "function.json"))
	if err := json.Unmarshal(fn.content, &found.Want); err != nil && found.Err == nil {
		found.Err = err
	}
	return found
}

// httpTriggers are the functions of an app that HTTP starts, and each function.json that cannot be read.
func httpTriggers(root string) (found []production.HTTPTrigger, unread []string) {
	paths, err := filepath.Glob(filepath.Join(root, "*", "function.json"))
	if err != nil {
		return nil, []string{root}
	}
	for _, path := range paths {
		folder := filepath.Base(filepath.Dir(path))
		file, err := readFunctionFile(path)
		if err != nil {
			unread = append(unread, folder+"/function.json")
			continue
		}
		for _, b := range file.Bindings {
			if strings.EqualFold(b.Type, "httpTrigger") {
				found = append(found, production.HTTPTrigger{Function: folder, AuthLevel: b.AuthLevel, Acts: folder == actionsFunction})
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
