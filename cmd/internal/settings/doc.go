// Package settings gives flags their values from more than the command line: each flag may also stand in a YAML file
// under its own name, and in the environment as DROSSEL_ and its name in capitals, with _ for -.
//
// The command line wins over the environment, the environment over the file, the file over the flag's default.
// Everything is checked, also what is overruled, and all mistakes are reported at once, each with its place.
//
// What it does not do: read files or the process's environment (both are handed in), or check a value beyond its
// flag's type.
package settings
