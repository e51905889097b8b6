package wiring

import (
	"testing"
)

func TestNoPollerAtAll(t *testing.T) {
	if _, err := (&App{}).Poller("orders"); err == nil || err.Error() !=
		`there is no poller "orders": the settings name no poller: is local.settings.json in this directory, or does this command need --config?` {
		t.Errorf("%v", err)
	}
}
