package settings

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Prefix starts the names of the environment variables that are settings.
const Prefix = "DROSSEL_"

// ErrInvalid is wrapped by every mistake that Apply reports.
var ErrInvalid = errors.New("invalid setting")

// Mistake is one thing that is wrong with a setting. It wraps ErrInvalid.
type Mistake struct {
	// Where is file:line:column, or the name of the environment variable.
	Where string
	// What says what is wrong and what is wanted.
	What string
}

// Error returns the place and what is wrong there.
func (m *Mistake) Error() string { return m.Where + ": " + m.What }

// Unwrap returns ErrInvalid.
func (m *Mistake) Unwrap() error { return ErrInvalid }

// Sources are where settings come from besides the command line. The zero Sources have none.
type Sources struct {
	// Environ is the environment as os.Environ gives it: NAME=value. An empty value counts as not set, so that a template
	// may leave one out.
	Environ []string
	// File is the name of the settings file, for messages, and Text what it holds: a flat YAML mapping of flag names to
	// values. A flag that takes several values takes a list or one value.
	File string
	Text []byte
	// Elsewhere names flags that other commands of the same program have: one file and one environment serve them all.
	// Their settings are skipped, and their variables not warned of.
	Elsewhere []string
}

// reserved are flags that only the command line can set (config also by its variable, which the caller reads).
var reserved = []string{"config", "help", "version"}

// Apply sets the flags from the sources. Flags that were set before, by the parsed command line, keep their values. A
// flag that a source sets counts as changed.
//
// The warnings name variables that start with Prefix and that no flag goes by; they are no mistake, for other programs
// may use the prefix. The error joins all mistakes, each a *Mistake wrapping ErrInvalid: those of the file by line,
// then those of the environment by name. After an error the flags hold any values. The value of every flag must take
// its own String back in Set, as those of pflag do but for the maps. Not safe for concurrent use.
func Apply(flags *pflag.FlagSet, from Sources) (warnings []string, err error) {
	var given []*pflag.Flag
	var values [][]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			given, values = append(given, f), append(values, current(f))
		}
	})
	mistakes := applyFile(flags, from)
	warnings, more := applyEnviron(flags, from.Environ, from.Elsewhere)
	mistakes = append(mistakes, more...)
	for i, f := range given {
		if err := set(f, values[i]); err != nil {
			mistakes = append(mistakes, &Mistake{Where: "--" + f.Name, What: wanted(f, f.Value.String(), err)})
		}
	}
	return warnings, errors.Join(mistakes...)
}

// settable lists the names of the flags that a source may set, sorted.
func settable(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(reserved, f.Name) && f.Annotations[commandLineOnly] == nil {
			names = append(names, f.Name)
		}
	})
	slices.Sort(names)
	return names
}

const commandLineOnly = "on the command line only"

// CommandLineOnly marks flags that no file and no environment sets: another command has one of that name which means something else.
// Each must be there.
func CommandLineOnly(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, commandLineOnly, []string{}); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// variable returns the environment variable of a flag.
func variable(name string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
