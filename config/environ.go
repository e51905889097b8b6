package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/config/kind"
)

// environ is the environment: every variable by its exact name, the names by their lower case, and what was read of the
// files that some of them name.
type environ struct {
	vars  map[string]string
	lower map[string][]string
	files map[string]contents
}

// newEnviron reads KEY=VALUE strings. Of two with the same name the first counts, as in package os.
func newEnviron(list []string) environ {
	e := environ{vars: map[string]string{}, lower: map[string][]string{}, files: map[string]contents{}}
	for _, kv := range list {
		name, value, ok := strings.Cut(kv, "=")
		if _, twice := e.vars[name]; !ok || name == "" || twice {
			continue // "" is Windows' way to keep the current directory of a drive
		}
		e.vars[name] = strings.TrimSpace(value)
		l := strings.ToLower(name)
		e.lower[l] = append(e.lower[l], name)
	}
	for _, names := range e.lower {
		slices.Sort(names)
	}
	return e
}

// names returns all names in order.
func (e environ) names() []string {
	names := make([]string, 0, len(e.vars))
	for name := range e.vars {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	return names
}

// find looks a variable up: the exact name first, then one that differs in the case of letters only, as the host's
// configuration does; then a file that name_FILE names. It returns the name that was found and a value that is not
// empty, but for a file that flaw speaks of.
func (e environ) find(name string) (found, value string, flaw *kind.Flaw, ok bool) {
	found, value, ok = e.variable(name)
	file, named := e.file(name)
	switch {
	case ok && named:
		return file, "", both(found), true
	case named:
		value, flaw = e.readFile(file)
		return file, value, flaw, true
	}
	return found, value, nil, ok
}

func (e environ) variable(name string) (found, value string, ok bool) {
	if v := e.vars[name]; v != "" {
		return name, v, true
	}
	for _, n := range e.lower[strings.ToLower(name)] {
		if v := e.vars[n]; v != "" {
			return n, v, true
		}
	}
	return name, "", false
}

// near returns the name of a variable that a mistyped name was probably meant to be, "" for none.
func (e environ) near(name string) string {
	var known []string
	for _, n := range e.names() {
		if e.vars[n] != "" {
			known = append(known, n)
		}
	}
	return nearest(name, known, min(2, len(name)/3))
}

const keyVaultReference = "@microsoft.keyvault("

func isKeyVaultReference(s string) bool {
	return strings.Contains(strings.ToLower(s), keyVaultReference)
}

const keyVaultMend = "Let the app's identity read the vault (role Key Vault Secrets User) and check the reference; locally, put the value itself in its place"

// expand replaces %NAME% and %%. What it puts in is not expanded again. A hidden value's flaw names nothing of it.
func (e environ) expand(raw string, hidden bool) (string, *kind.Flaw) {
	var b strings.Builder
	for rest := raw; ; {
		before, after, ok := strings.Cut(rest, "%")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		name, tail, ok := strings.Cut(after, "%")
		switch {
		case !ok || (name != "" && !settingName.MatchString(name) && !isPlain(name)):
			return "", kind.Wrong("has a percent sign that begins no %NAME%", "Write %% for a percent sign")
		case name == "":
			b.WriteByte('%')
		default:
			found, value, flaw, ok := e.find(name)
			if flaw != nil {
				return "", kind.Wrong("refers to "+found+", which "+flaw.Problem, flaw.Mend)
			}
			if !ok && hidden {
				return "", kind.Wrong("refers by %…% to an environment variable that is not set (its name is not shown: it could be a part of the secret)",
					"Set that variable, or write %% for a percent sign")
			}
			if !ok {
				return "", kind.Wrong("refers to "+name+", which is not set", "Set "+name+", or write %% for a percent sign")
			}
			b.WriteString(value)
		}
		rest = tail
	}
}

// isPlain reports whether a name that begins with a digit could be a variable's: %2F% of a URL is read as one too, and
// said to be unset.
func isPlain(name string) bool { return settingName.MatchString("_" + name) }

// Merge adds to the environment what a file of settings has and it does not. The real environment wins, as under Core
// Tools; names are compared without the case of letters, so that STATE__KIND=file in a shell replaces the file's
// state__kind instead of standing beside it.
func Merge(environ, file []string) []string {
	merged := slices.Clone(environ)
	have := map[string]bool{}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		have[strings.ToLower(name)] = true
	}
	for _, kv := range file {
		name, _, _ := strings.Cut(kv, "=")
		if !have[strings.ToLower(name)] {
			merged = append(merged, kv)
		}
	}
	return merged
}

// file is the variable that names the file with the value of name; false where there is none.
func (e environ) file(name string) (found string, ok bool) {
	for _, n := range e.lower[strings.ToLower(name+fileSuffix)] {
		if strings.HasSuffix(n, fileSuffix) && e.vars[n] != "" {
			return n, true
		}
	}
	return "", false
}

// readFile returns what the file holds that a variable names, without the line's end. It is kept: all that name it see
// the same. No flaw shows anything of the content.
func (e environ) readFile(variable string) (string, *kind.Flaw) {
	if known, ok := e.files[variable]; ok {
		return known.value, known.flaw
	}
	value, err := contentOf(e.vars[variable])
	var flaw *kind.Flaw
	if err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err // the name of the file is said once
		}
		flaw = kind.Wrong(fmt.Sprintf("names the file %s, which cannot be read: %v", e.vars[variable], err),
			"Let the user that rowrelay runs as read it, or name another")
	}
	e.files[variable] = contents{value, flaw}
	return value, flaw
}
