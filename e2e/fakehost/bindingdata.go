package fakehost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// bindingData is what the Metadata says of a trigger's value. Names have no case: a later one of another case takes
// the place of the earlier, whose spelling stays.
type bindingData map[string]any

func (b bindingData) set(name string, value any) {
	for known := range b {
		if strings.EqualFold(known, name) {
			name = known
			break
		}
	}
	b[name] = value
}

// text sets a string, which is JSON text in a string.
func (b bindingData) text(name, value string) error {
	text, err := jsonText(value)
	if err != nil {
		return err
	}
	b.set(name, text)
	return nil
}

// members takes the top-level members of a text that is a JSON object: objects as they are, lists as JSON text in a
// string, and everything else as a string that is encoded like any other. Other texts have none.
func (b bindingData) members(text string) error {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil {
		return nil //nolint:nilerr // no object is no error
	}
	for name, value := range object {
		value = bytes.TrimSpace(value)
		switch {
		case value[0] == '{':
			b.set(name, value)
		case value[0] == '[' || string(value) == "null":
			b.set(name, string(value))
		default:
			var scalar string
			if json.Unmarshal(value, &scalar) != nil {
				scalar = string(value)
			}
			if err := b.text(name, scalar); err != nil {
				return err
			}
		}
	}
	return nil
}

// and returns the data with what the host adds of its own.
func (b bindingData) and(own map[string]any) map[string]any {
	all := maps.Clone(map[string]any(b))
	maps.Copy(all, own)
	return all
}

func jsonText(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("fakehost: encode the invocation: %w", err)
	}
	return string(text), nil
}
