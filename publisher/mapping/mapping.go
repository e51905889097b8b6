// Package mapping finds out what the columns of another framework's table are for (source__map__…): settings name
// them (settings.go), and the catalog proves it (resolve.go). Package rows reads and changes such a table.
package mapping

import (
	"fmt"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/poller"
)

// Read proves settings (role → column, or an option's value) against the columns of a table. qualified is its name for
// people, textTimes says that a time may stand in a column of text. Errors wrap poller.ErrConfig.
func Read(settings map[string]string, qualified string, columns []column.Column, textTimes bool) (Layout, error) {
	m := mapping{table: qualified, catalog: columns, textTimes: textTimes, columns: make(map[role]string)}
	parse := func() error { return m.parse(settings) }
	for _, step := range []func() error{parse, m.check, m.resolve, m.checkState, m.checkKinds, m.checkOrder} {
		if err := step(); err != nil {
			return Layout{}, fmt.Errorf("%w: %w", poller.ErrConfig, err)
		}
	}
	return m.Layout, nil
}

// Cleanable returns an error where a clean-up by age cannot know what is old.
func (l *Layout) Cleanable() error {
	switch {
	case l.Deletes:
		return fmt.Errorf("%w: %s=delete deletes rows when they are published: there is nothing to clean up",
			poller.ErrConfig, setting(optionOnPublished))
	case l.PublishedAt == nil:
		return fmt.Errorf("%w: the mapped table does not say when a row was published, so that a clean-up by age cannot know what is old: set %s, or "+
			"clean the table up by its own means", poller.ErrConfig, rolePublishedAt.setting())
	}
	return nil
}

// Aged returns an error where nothing says how old an event is.
func (l *Layout) Aged() error {
	if l.CreatedAt != nil {
		return nil
	}
	return fmt.Errorf("%w: the age of events is asked for, and the mapped table has no time of writing: set %s",
		poller.ErrConfig, roleCreatedAt.setting())
}
