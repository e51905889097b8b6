package localsettings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/rowrelay/rowrelay/wholefile"
)

// Add puts values into the Values of a local.settings.json, which it makes where there is none. It changes
// nothing that is there: a name that is taken, in any spelling, is an error. So is a file with comments, which would be
// lost.
func Add(path string, values map[string]string) error {
	file := map[string]json.RawMessage{"IsEncrypted": json.RawMessage("false")}
	all := map[string]json.RawMessage{}
	data, err := os.ReadFile(path)
	switch {
	case err == nil:
		if err := errors.Join(json.Unmarshal(data, &file), json.Unmarshal(valuesOf(file), &all)); err != nil {
			return fmt.Errorf("%s holds comments, or is not JSON with an object of Values: add the settings to it yourself", path)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read local settings: %w", err)
	}
	for name, value := range values {
		for have := range all {
			if strings.EqualFold(have, name) {
				return fmt.Errorf("%s has %s already: remove it first", path, have)
			}
		}
		if all[name], err = json.Marshal(value); err != nil {
			return err
		}
	}
	if file["Values"], err = json.Marshal(all); err != nil {
		return err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(file); err != nil {
		return err
	}
	return wholefile.Write(path, out.Bytes(), 0o600) // it may hold a password
}

func valuesOf(file map[string]json.RawMessage) []byte {
	if v := file["Values"]; len(v) > 0 {
		return v
	}
	return []byte("{}")
}
