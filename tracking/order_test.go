package tracking_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestSharedOrderKey: an order key that rows share is kept where versions are in the order of commits. On MySQL and
// MariaDB, where a change that commits late may come after a later one of another row, it is refused; the row's own key
// is not.
func TestSharedOrderKey(t *testing.T) {
	t.Parallel()
	for _, engine := range everyEngine {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine)
			r.exec("CREATE TABLE parts (tenant bigint NOT NULL, id bigint NOT NULL, v bigint, PRIMARY KEY (tenant, id))")
			r.install("parts")
			for orderKey, refused := range map[string]bool{"tenant": engine == "mysql", "tenant,id": false, "": false} {
				cfg := plan.Config{Poller: "parts", Table: "parts", Tracked: true}
				if orderKey != "" {
					cfg.OrderKey = strings.Split(orderKey, ",")
				}
				src, err := source.New(cfg, r.conn)
				if err != nil {
					t.Fatal(err)
				}
				d, err := src.Describe(t.Context())
				if err == nil {
					err = src.Close()
				}
				if err != nil || errors.Is(d.Refused, poller.ErrConfig) != refused ||
					refused && !strings.Contains(d.Refused.Error(), "remove source__order_key") {
					t.Errorf("order key %q: %v, refused: %v", orderKey, err, d.Refused)
				}
			}
		})
	}
}
