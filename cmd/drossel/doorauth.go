package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/drossel-dev/drossel/transport/headers"
	"github.com/drossel-dev/drossel/transport/web"
)

// authFlags are what serve is told about gateways that ask over HTTP.
type authFlags struct {
	attributes map[string]string
	proxies    int
	fail       string
}

func (f *authFlags) addTo(flags *pflag.FlagSet) {
	flags.StringToStringVar(&f.attributes, "auth-attribute", nil, "`NAME=HEADER,...`: attributes that /v1/auth reads from headers, beside method, host, route and ip; NAME= reads one of these no more")
	flags.IntVar(&f.proxies, "trusted-proxies", 1, "`NUMBER` of proxies of your own, the gateway that asks /v1/auth among them, that append to X-Forwarded-For")
	flags.StringVar(&f.fail, "auth-fail", "open", "what /v1/auth answers if a request could not be decided: open lets it pass, closed refuses it with 503")
}

// wrong says what is wrong with the flags.
func (f *authFlags) wrong() (err error) {
	if f.fail != "open" && f.fail != "closed" {
		err = fmt.Errorf("--auth-fail is %q, want open or closed", f.fail)
	}
	if f.proxies < 0 {
		err = errors.Join(err, fmt.Errorf("--trusted-proxies is %d, want 0 or more", f.proxies))
	}
	for _, name := range slices.Sorted(maps.Keys(f.attributes)) {
		if header := f.attributes[name]; name == "" || strings.ContainsAny(header, " :\t\r\n") {
			err = errors.Join(err, fmt.Errorf("--auth-attribute has %s=%s, want the name of an attribute and that of a header", name, header))
		}
	}
	return err
}

func (f *authFlags) config(lim web.Limiter, styles []headers.Style) *web.AuthConfig {
	return &web.AuthConfig{
		Limiter: lim, Attributes: f.attributes, TrustedProxies: f.proxies, Headers: styles, FailClosed: f.fail == "closed",
	}
}
