package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// applyEnviron sets the flags that have a variable, and returns what is odd and what is wrong, each by name.
func applyEnviron(flags *pflag.FlagSet, environ, elsewhere []string) (warnings []string, mistakes []error) {
	byVariable := map[string]*pflag.Flag{}
	var variables []string
	for _, name := range settable(flags) {
		byVariable[variable(name)] = flags.Lookup(name)
		variables = append(variables, variable(name))
	}
	quiet := map[string]bool{variable("config"): true}
	for _, name := range elsewhere {
		quiet[variable(name)] = true
	}
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, Prefix) || text == "" {
			continue
		}
		f, known := byVariable[name]
		if !known {
			if !quiet[name] && !isServiceLink(name) {
				warnings = append(warnings, fmt.Sprintf("%s is ignored: no setting goes by it%s", clip(name),
					orDidYouMean(name, variables)))
			}
			continue
		}
		values, err := items(f, text)
		if err == nil {
			err = set(f, values)
		}
		if err != nil {
			mistakes = append(mistakes, &Mistake{Where: name, What: wanted(f, text, err)})
		}
	}
	return warnings, mistakes
}

// isServiceLink tells variables that Kubernetes sets in every pod beside a service called drossel or drossel-something,
// as in DROSSEL_SERVICE_HOST and DROSSEL_PORT_7070_TCP_ADDR.
func isServiceLink(name string) bool {
	return strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT_") || strings.HasSuffix(name, "_PORT")
}
