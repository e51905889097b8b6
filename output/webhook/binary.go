package webhook

import (
	"net/http"

	"github.com/rowrelay/rowrelay/change"
)

// setBinary sets the headers of a CloudEvent in binary mode (HTTP protocol binding 1.0.2, 3.1.3): an attribute is
// ce-<name>, percent-encoded (see encodeHeader); datacontenttype is Content-Type, and there is none where the event has
// no data.
func setBinary(h http.Header, set func(name, value string), d *change.Delivery) {
	delete(h, "Content-Type")
	for name, value := range change.BinaryAttributes(d, &d.Events[0]) {
		if name == "datacontenttype" {
			set("Content-Type", value)
			continue
		}
		set(http.CanonicalHeaderKey("ce-"+name), encodeHeader(value))
	}
}
