package settings

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// current returns what set takes to give the flag the value that it has.
func current(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// set gives the flag its value, whatever it had before. values is exactly one for a flag that is no list.
func set(f *pflag.Flag, values []string) error {
	f.Changed = true
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	return f.Value.Set(values[0])
}

func isList(f *pflag.Flag) bool {
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}

// items splits one text into the values of the flag: at commas as the command line does, and at line ends, with CSV's
// quotes. Flags that take each text whole get it whole.
func items(f *pflag.Flag, text string) ([]string, error) {
	if !isList(f) || f.Value.Type() == "stringArray" {
		return []string{text}, nil
	}
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		return nil, errors.New("its quotes don't match")
	}
	return slices.Concat(records...), nil
}

// wanted says what kind of value the flag takes and that text is none, which err found.
func wanted(f *pflag.Flag, text string, err error) string {
	kind := kindOf(f)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Sprintf("%q is out of range for %s", clip(text), f.Name)
	case kind == "":
		return fmt.Sprintf("%q is no value for %s: %v", clip(text), f.Name, err)
	}
	return fmt.Sprintf("%s wants %s, not %q", f.Name, kind, clip(text))
}

// kindOf names what the flag takes, or each of its values; "" for a type with rules of its own.
func kindOf(f *pflag.Flag) string {
	switch strings.TrimSuffix(f.Value.Type(), "Slice") {
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 250ms or 1m30s"
	case "int", "int8", "int16", "int32", "int64", "count":
		return "a whole number"
	case "uint", "uint8", "uint16", "uint32", "uint64":
		return "a whole number from 0"
	case "float32", "float64":
		return "a number"
	}
	return ""
}

// clip keeps a message on one line.
func clip(text string) string {
	const longest = 60
	if len(text) <= longest {
		return text
	}
	return text[:longest] + "..."
}
