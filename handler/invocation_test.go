package handler

import "testing"

// Every encoding that the host is known to use is understood, and none that it may come to use is refused.
func TestDecodeInvocation(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want Invocation
	}{
		"timer": {`{"Data":{"timer":{"Schedule":{"AdjustForDST":true},"ScheduleStatus":{"Last":"2026-03-05T10:00:00.0123456+00:00","Next":"2026-03-05T10:05:00+00:00","LastUpdated":"2026-03-05T10:00:00.0123456+00:00"},"IsPastDue":true}},"Metadata":{"sys":{"MethodName":"orders","UtcNow":"2026-03-05T10:05:00.0312345Z","RandGuid":"x"}}}`,
			Invocation{PastDue: true}},
		"timer as a string": {`{"Data":{"timer":"{\"ScheduleStatus\":{\"Last\":\"2026-03-05T11:00:00.0123456+01:00\"},\"IsPastDue\":true}"},"Metadata":{}}`,
			Invocation{PastDue: true}},
		"no status": {`{"Data":{"timer":{"ScheduleStatus":null,"IsPastDue":false}},"Metadata":{}}`, Invocation{}},
		"never ran": {`{"Data":{"timer":{"ScheduleStatus":{"Last":"0001-01-01T00:00:00","Next":"2026-03-05T10:05:00+00:00","LastUpdated":"0001-01-01T00:00:00"},"IsPastDue":false}}}`, Invocation{}},
		"zoneless": {`{"Data":{"timer":{"ScheduleStatus":{"Last":"2026-03-05T10:00:00.0123456"},"IsPastDue":false}}}`,
			Invocation{}},
		"retry": {`{"Data":{},"Metadata":{"RetryContext":{"RetryCount":2,"MaxRetryCount":5,"Exception":{"Message":"x"}}}}`,
			Invocation{Retry: 2, MaxRetry: 5}},
		"retry as strings": {`{"Metadata":{"RetryContext":"{\"RetryCount\":\"2\",\"MaxRetryCount\":\"-1\"}"}}`,
			Invocation{Retry: 2, MaxRetry: -1}},
		"queue":             {`{"Data":{"item":"\"{\\\"op\\\":\\\"c\\\"}\""},"Metadata":{"DequeueCount":"1","Id":"\"7\"","PopReceipt":"\"p\""}}`, Invocation{}},
		"manual":            {`{"Data":{"timer":""},"Metadata":{}}`, Invocation{}},
		"nothing":           {`{}`, Invocation{}},
		"nulls":             {`{"Data":null,"Metadata":null}`, Invocation{}},
		"of other types":    {`{"Data":[1],"Metadata":"x","Later":{"a":1}}`, Invocation{}},
		"unreadable within": {`{"Data":{"timer":{"IsPastDue":7,"ScheduleStatus":{"Last":12}}},"Metadata":{"RetryContext":{"RetryCount":"many"}}}`, Invocation{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decodeInvocation([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func FuzzDecodeInvocation(f *testing.F) {
	f.Add([]byte(`{"Data":{"timer":"{\"IsPastDue\":true}"},"Metadata":{"RetryContext":{"RetryCount":1}}}`))
	f.Add([]byte(`{"Data":"\"\\\"\\\"\""}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		inv, err := decodeInvocation(body)
		if err != nil && inv != (Invocation{}) {
			t.Errorf("an invocation came with an error: %+v, %v", inv, err)
		}
	})
}
