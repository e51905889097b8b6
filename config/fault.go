package config

import (
	"cmp"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with one setting, or worth a warning.
type Fault struct { //nolint:errname // a fault of settings is not only an error: warnings are Faults too
	// Setting is the name as it was written, or the full name of one that is missing.
	Setting string `json:"setting"`
	// Problem says what is wrong, without a full stop. It never holds the value of a secret.
	Problem string `json:"problem"`
	// Mend says what to do, without a full stop.
	Mend string `json:"mend"`
}

// Error is the fault on one line: "setting: problem. Mend."
func (f Fault) Error() string {
	s := f.Setting + ": " + f.Problem + "."
	if f.Mend != "" {
		s += " " + f.Mend + "."
	}
	return s
}

// Faults are several faults, in the order in which they are to be read. Everyone may append to them.
type Faults []Fault //nolint:errname // see Fault

// Error is one fault a line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is fs as an error, nil when there is no fault.
func (fs Faults) Err() error {
	if len(fs) == 0 {
		return nil
	}
	return fs
}

// Errors are the faults as errors.
func (fs Faults) Errors() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// Add appends one fault. It is not inlined in the hundred places that call it, nor is fault of a scope: 100 KB of the
// program.
//
//go:noinline
func (fs *Faults) Add(setting, problem, mend string) {
	*fs = append(*fs, Fault{Setting: setting, Problem: problem, Mend: mend})
}

// sort puts the faults of one setting together, in the order of the names, so that a list reads the same every time.
func (fs Faults) sort() {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Compare(strings.ToLower(a.Setting), strings.ToLower(b.Setting))
	})
}
