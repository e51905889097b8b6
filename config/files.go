package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rowrelay/rowrelay/config/kind"
)

// fileSuffix, after a setting's name, says that the value is what a file holds: secrets of Docker, Kubernetes and
// systemd are files. It is upper case, so that it is told from the header X-File.
const fileSuffix = "_FILE"

// maxFile bounds a value: a larger file was named by mistake.
const maxFile = 64 << 10

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
