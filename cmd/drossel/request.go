package main

import (
	"fmt"
	"strconv"
	"strings"
)

// attributesOf reads what --attr says: NAME=VALUE, the last of several for one name. nil if it says nothing.
func attributesOf(flags []string) (map[string]string, error) {
	var byName map[string]string
	for _, a := range flags {
		name, value, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--attr is %q, want name=value", a)
		}
		if byName == nil {
			byName = make(map[string]string)
		}
		byName[name] = value
	}
	return byName, nil
}

// costsOf reads what --costs says: UNIT=COUNT. nil if it says nothing.
func costsOf(flags []string) (map[string]int64, error) {
	var byUnit map[string]int64
	for _, c := range flags {
		unit, count, _ := strings.Cut(c, "=")
		n, err := strconv.ParseInt(count, 10, 64)
		if unit == "" || err != nil {
			return nil, fmt.Errorf("--costs has %q, want unit=count", c)
		}
		if byUnit == nil {
			byUnit = make(map[string]int64)
		}
		byUnit[unit] = n
	}
	return byUnit, nil
}
