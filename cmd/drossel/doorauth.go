package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/drossel-dev/drossel/transport/headers"
	"github.com/drossel-dev/drossel/transport/web"
)

// authFlags are what serve is told about gateways that ask over HTTP.
type authFlags struct {
	attributes []string
	proxies    int
	fail       string
}

func (f *authFlags) addTo(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.attributes, "auth-attribute", nil, "`NAME=HEADER,...`: attributes that /v1/auth reads from headers, beside method, host, route and ip; NAME= reads one of these no more")
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
	for _, a := range f.attributes {
		if name, header, found := strings.Cut(a, "="); !found || name == "" || strings.ContainsAny(header, " :\t\r\n") {
			err = errors.Join(err, fmt.Errorf("--auth-attribute has %q, want NAME=HEADER, such as api_key=X-API-Key", a))
		}
	}
	return err
}

func (f *authFlags) config(lim web.Limiter, styles []headers.Style) *web.AuthConfig {
	attributes := make(map[string]string, len(f.attributes))
	for _, a := range f.attributes {
		name, header, _ := strings.Cut(a, "=")
		attributes[name] = header
	}
	return &web.AuthConfig{
		Limiter: lim, Attributes: attributes, TrustedProxies: f.proxies, Headers: styles, FailClosed: f.fail == "closed",
	}
}
