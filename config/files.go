package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/rowrelay/rowrelay/config/kind"
)

// fileSuffix, after a setting's name, says that the value is what a file holds: secrets of Docker, Kubernetes and
// systemd are files. It is upper case, so that it is told from the header X-File.
const fileSuffix = "_FILE"

// maxFile bounds a value: a larger file was named by mistake.
const maxFile = 64 << 10

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

// contents are those of a file, or why it has none.
type contents struct {
	value string
	flaw  *kind.Flaw
}

func contentOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return "", errors.New("it is no file")
	}
	f, err := os.Open(path) //nolint:gosec // the settings name it
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	value := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		return "", err
	case len(data) > maxFile:
		return "", fmt.Errorf("it holds more than %d bytes", maxFile)
	case value == "":
		return "", errors.New("it is empty")
	}
	return value, nil
}

// both is the flaw of a value beside a file.
func both(name string) *kind.Flaw {
	return kind.Wrong("is set, and so is "+name+": it is not clear which counts", "Remove one of the two")
}
