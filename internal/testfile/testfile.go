// Package testfile reads and writes the files of tests. What goes wrong ends the test.
package testfile

import (
	"os"
	"path/filepath"
	"testing"
)

// Read returns what a file holds.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Write writes a file, which only its owner may read, and makes the directories that lead to it.
func Write[Text string | []byte](t testing.TB, path string, text Text) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o750)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
