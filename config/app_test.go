package config

import (
	"reflect"
	"testing"
)

// Each member of State is compared: another value of any is another store, or other documents.
func TestChangedState(t *testing.T) {
	var compare func(path string, of reflect.Value, was, now *State)
	compare = func(path string, of reflect.Value, was, now *State) {
		switch of.Kind() {
		case reflect.Struct:
			for i := range of.NumField() {
				compare(path+"."+of.Type().Field(i).Name, of.Field(i), was, now)
			}
			return
		case reflect.Bool:
			of.SetBool(true)
		default:
			of.SetString("other")
		}
		if names := was.Changed(now); len(names) != 1 {
			t.Errorf("%s: changed are %q", path, names)
		}
		of.SetZero()
	}
	var was, now State
	compare("State", reflect.ValueOf(&now).Elem(), &was, &now)
	if names := was.Changed(&now); names != nil {
		t.Errorf("of equal ones changed are %q", names)
	}
}

// AllWarnings returns the app's warnings and those of each poller.
func (a *App) AllWarnings() Faults {
	all := append(Faults(nil), a.Warnings...)
	for _, p := range a.Pollers {
		all = append(all, p.Warnings...)
	}
	return all
}
