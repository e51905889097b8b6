package fakehost

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// newJobHost indexes the functions, and takes a port.
func (h *Host) newJobHost() error {
	directories, err := directoriesIn(h.root)
	if err != nil {
		return err
	}
	functions, err := index(h.root, h.settings, h.config.bundle)
	if err != nil {
		return err
	}
	port, err := programtest.FreePort()
	if err != nil {
		return fmt.Errorf("fakehost: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.functions, h.jobHost = functions, jobHost{number: h.jobHost.number + 1, port: port, directories: directories}
	return nil
}

func directoriesIn(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("fakehost: read the script root: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// ended takes note of the end of an invocation. The host watches its script root: a directory that has come or gone
// restarts the JobHost with a new worker, once no invocation is in flight.
func (h *Host) ended(ctx context.Context) {
	h.mu.Lock()
	h.running--
	w, waits, known := h.worker, h.running > 0 || h.stopped != nil || h.zombie, h.jobHost.directories
	h.mu.Unlock()
	if waits {
		return
	}
	now, err := directoriesIn(h.root)
	if err != nil || slices.Equal(now, known) {
		return
	}
	h.journal.tell(fmt.Sprintf("Directory change of type 'Created' detected for %q. Restarting the JobHost", h.root))
	if err := h.newJobHost(); err != nil {
		h.stop(err)
		return
	}
	w.kill()
	h.settle(ctx, w)
}
