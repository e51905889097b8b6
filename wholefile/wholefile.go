// Package wholefile replaces what is in a file, so that a crash or a full disk never leaves half of it.
package wholefile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes data the content of a file, wholly or not at all: on a full disk the file stays as it was. A new one
// has the mode; one that is there keeps its own, and one that may not be written is left alone. Where no other can take
// its place (a file that is mounted, a directory that may not be written), it is written over.
func Write(path string, data []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // else the link would be replaced
	}
	old, err := os.OpenFile(path, os.O_WRONLY, 0)
	there := err == nil
	if there {
		info, err := old.Stat()
		if err := errors.Join(err, old.Close()); err != nil {
			return err
		}
		mode = info.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temporary := path + "." + rand.Text()
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case there && errors.Is(err, fs.ErrPermission):
		return os.WriteFile(path, data, mode)
	case err != nil:
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	if err = os.Rename(temporary, path); err == nil {
		return nil
	}
	if there {
		err = os.WriteFile(path, data, mode)
	}
	return errors.Join(err, os.Remove(temporary))
}
