package azmessaging_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/output/azmessaging"
)

const secret = "cGxhbnRlZC1rZXktb2YtdGVzdHM="

func TestParseConnection(t *testing.T) {
	key := ";SharedAccessKeyName=send;SharedAccessKey=" + secret
	for text, want := range map[string]azmessaging.Connection{
		"Endpoint=sb://shop.servicebus.windows.net/" + key: {
			Namespace: "shop.servicebus.windows.net", Text: "Endpoint=sb://shop.servicebus.windows.net" + key,
		},
		" endpoint = sb://shop.servicebus.windows.net ; sharedaccesskeyname=send;SHAREDACCESSKEY=" + secret +
			";entitypath=Orders;": {
			Namespace: "shop.servicebus.windows.net", EntityPath: "Orders",
			Text: "Endpoint=sb://shop.servicebus.windows.net" + key,
		},
		"Endpoint=sb://localhost:5673" + key + ";UseDevelopmentEmulator=true;": {
			Namespace: "localhost:5673", Emulator: true,
			Text: "Endpoint=sb://localhost:5673" + key + ";UseDevelopmentEmulator=true",
		},
		"Endpoint=sb://shop.servicebus.windows.net/;UseDevelopmentEmulator=false;TransportType=Amqp;SharedAccessSignature=SharedAccessSignature sr=shop&sig=a%3D&se=1&skn=send": {
			Namespace: "shop.servicebus.windows.net",
			Text:      "Endpoint=sb://shop.servicebus.windows.net;SharedAccessSignature=SharedAccessSignature sr=shop&sig=a%3D&se=1&skn=send",
		},
	} {
		got, err := azmessaging.ParseConnection(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func TestParseConnectionErrors(t *testing.T) {
	key := ";SharedAccessKeyName=send;SharedAccessKey=" + secret
	for text, want := range map[string]string{
		"":                            "Endpoint",
		"shop.servicebus.windows.net": "a member without =",
		secret[:20]:                   "a member without =",
		"SharedAccessKeyName=send;SharedAccessKey=" + secret:             "Endpoint",
		"Endpoint=https://shop.servicebus.windows.net" + key:             "sb://",
		"Endpoint=sb://" + secret + "@shop" + key:                        "sb://",
		"Endpoint=sb://shop/" + secret + key:                             "sb://",
		"Endpoint=sb://shop:0" + key:                                     "sb://",
		"Endpoint=sb://shop:99999" + key:                                 "sb://",
		"Endpoint=sb://shop:" + key:                                      "sb://",
		"Endpoint=sb://[::1]" + key:                                      "sb://",
		"Endpoint=sb://shop" + key + ";UseDevelopmentEmulator=" + secret: "UseDevelopmentEmulator",
		"Endpoint=sb://shop;SharedAccessKeyName=send":                    "no SharedAccessKey",
		"Endpoint=sb://shop;SharedAccessKey=" + secret:                   "SharedAccessKeyName",
		"Endpoint=sb://shop" + key + ";SharedAccessSignature=" + secret:  "leave one out",
		"Endpoint=sb://shop" + key + ";SharedAccessKey=" + secret:        "twice",
	} {
		c, err := azmessaging.ParseConnection(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("%s: %v, %v, want %q and no secret", text, c, err, want)
		}
	}
}

func TestConnectionPrintsWithoutSecrets(t *testing.T) {
	c, err := azmessaging.ParseConnection("Endpoint=sb://shop.servicebus.windows.net;SharedAccessKeyName=send;SharedAccessKey=" + secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, value := range []any{c, &c, azmessaging.Config{Connection: c}} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, secret) ||
				!strings.Contains(text, "shop.servicebus.windows.net") {
				t.Errorf("%s: %s", verb, text)
			}
		}
	}
}

type identity struct{ azcore.TokenCredential }

func TestWithIdentity(t *testing.T) {
	for _, namespace := range []string{"shop.servicebus.windows.net", "sb://shop.servicebus.windows.net/"} {
		c, err := azmessaging.WithIdentity(namespace, identity{})
		if err != nil || c.Namespace != "shop.servicebus.windows.net" || c.Credential == nil || c.Text != "" {
			t.Errorf("%s: %v, %v", namespace, c, err)
		}
	}
	for _, namespace := range []string{"", "a b", "shop/orders", "Endpoint=sb://shop;SharedAccessKey=" + secret} {
		if _, err := azmessaging.WithIdentity(namespace, identity{}); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", namespace, err)
		}
	}
	if _, err := azmessaging.WithIdentity("shop", nil); err == nil {
		t.Error("no identity is one")
	}
}

// What is accepted here, the SDK accepts and reads in the same way; what is refused is refused without its secret.
func FuzzParseConnection(f *testing.F) {
	f.Add("Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=send;SharedAccessKey=" + secret +
		";EntityPath=o;UseDevelopmentEmulator=true")
	f.Add("endpoint=sb://h:1;SharedAccessSignature=SharedAccessSignature sr=h&sig=" + secret)
	f.Add(";;=;Endpoint=")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := azmessaging.ParseConnection(text)
		if err != nil {
			for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '=' }) {
				if len(part) > 24 && strings.Contains(err.Error(), part) {
					t.Errorf("%q: the error repeats a value: %v", text, err)
				}
			}
			return
		}
		sdk, err := azeventhubs.ParseConnectionString(c.Text)
		if err != nil || sdk.FullyQualifiedNamespace != c.Namespace || sdk.EntityPath != nil || sdk.Emulator != c.Emulator {
			t.Errorf("%q: the SDK reads %q as %+v, %v", text, c.Text, sdk, err)
		}
		if again, err := azmessaging.ParseConnection(c.Text); err != nil || again.Text != c.Text {
			t.Errorf("%q: read again: %v, %v", text, again, err)
		}
	})
}
