package settings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"github.com/drossel-dev/drossel/cmd/internal/settings"
)

// options are flags of every kind that a command may have.
type options struct {
	Gossip   string
	Join     []string
	Header   []string
	Weights  []int
	Deadline time.Duration
	Nodes    int
	Share    float64
	Insecure bool
}

func flagSet() (*pflag.FlagSet, *options) {
	o := &options{}
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.StringVar(&o.Gossip, "gossip", ":7946", "")
	f.StringSliceVar(&o.Join, "join", []string{"seed.example.com"}, "")
	f.StringArrayVar(&o.Header, "header", nil, "")
	f.IntSliceVar(&o.Weights, "weights", nil, "")
	f.DurationVar(&o.Deadline, "check-deadline", 12*time.Millisecond, "")
	f.IntVar(&o.Nodes, "nodes", 1, "")
	f.Float64Var(&o.Share, "share", 0.5, "")
	f.BoolVar(&o.Insecure, "insecure", false, "")
	f.String("config", "", "")
	f.Bool("help", false, "")
	return f, o
}

func defaults() options {
	_, o := flagSet()
	return *o
}

func TestApply(t *testing.T) {
	for name, test := range map[string]struct {
		args    []string
		environ []string
		text    string
		want    func(*options)
	}{
		"nothing":       {want: func(*options) {}},
		"only comments": {text: "# nothing yet\n", want: func(*options) {}},
		"only a marker": {text: "---\n", want: func(*options) {}},
		"null":          {text: "null\n", want: func(*options) {}},
		"empty mapping": {text: "{}\n", want: func(*options) {}},
		"file": {
			text: "gossip: :1\njoin: [a, 'b,c']\nheader: ['x, y']\nweights: [1, 2]\n" +
				"check-deadline: 5ms\nnodes: 3\nshare: 0.25\ninsecure: true\n",
			want: func(o *options) {
				*o = options{":1", []string{"a", "b,c"}, []string{"x, y"}, []int{1, 2}, 5 * time.Millisecond, 3, 0.25, true}
			},
		},
		"file, texts": {
			text: "gossip: 7946\njoin: a, \"b\"\nheader: x, y\nweights: '1,2'\n" +
				"check-deadline: '5ms'\nnodes: '3'\nshare: '1'\ninsecure: 'true'\n",
			want: func(o *options) {
				*o = options{"7946", []string{"a", `b`}, []string{"x, y"}, []int{1, 2}, 5 * time.Millisecond, 3, 1, true}
			},
		},
		"file, one for a list": {
			text: "weights: 7\njoin:\n  - a\n",
			want: func(o *options) { o.Weights, o.Join = []int{7}, []string{"a"} },
		},
		"file, no item":        {text: "join: []\n", want: func(o *options) { o.Join = []string{} }},
		"file, block of lines": {text: "join: |\n  a,b\n  c\n", want: func(o *options) { o.Join = []string{"a", "b", "c"} }},
		"file, alias": {
			text: "gossip: &port :1\nheader: [*port]\n",
			want: func(o *options) { o.Gossip, o.Header = ":1", []string{":1"} },
		},
		"environment": {
			environ: []string{"PATH=/bin", "DROSSEL_CHECK_DEADLINE=7ms", "DROSSEL_JOIN=a,b", "DROSSEL_HEADER=x, y",
				"DROSSEL_INSECURE=1"},
			want: func(o *options) {
				o.Deadline, o.Join, o.Header, o.Insecure = 7*time.Millisecond, []string{"a", "b"}, []string{"x, y"}, true
			},
		},
		"environment, empty": {environ: []string{"DROSSEL_NODES=", "DROSSEL_GOSSIP="}, want: func(*options) {}},
		"environment over file": {
			environ: []string{"DROSSEL_NODES=4", "DROSSEL_JOIN=env"},
			text:    "nodes: 3\njoin: [file]\nshare: 1\n",
			want:    func(o *options) { o.Nodes, o.Join, o.Share = 4, []string{"env"}, 1 },
		},
		"command line over all": {
			args:    []string{"--nodes=5", "--join=a", "--join=b", "--insecure=false", "--header", "h,i", "--weights=9"},
			environ: []string{"DROSSEL_NODES=4", "DROSSEL_JOIN=env", "DROSSEL_INSECURE=true", "DROSSEL_WEIGHTS=1,2"},
			text:    "nodes: 3\njoin: [file]\nheader: [file]\nshare: 1\ngossip: :1\n",
			want: func(o *options) {
				*o = options{":1", []string{"a", "b"}, []string{"h,i"}, []int{9}, 12 * time.Millisecond, 5, 1, false}
			},
		},
		"command line says the default": {
			args: []string{"--nodes=1", "--gossip=:7946"}, text: "nodes: 3\ngossip: ':1'\n",
			want: func(*options) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			flags, got := flagSet()
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			from := settings.Sources{Environ: test.environ, File: "d.yaml", Text: []byte(test.text)}
			warnings, err := settings.Apply(flags, from)
			if err != nil || warnings != nil {
				t.Fatalf("Apply = %v, %v; want no warning and no error", warnings, err)
			}
			want := defaults()
			test.want(&want)
			if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyMarksChanged(t *testing.T) {
	flags, _ := flagSet()
	from := settings.Sources{Environ: []string{"DROSSEL_NODES=4"}, File: "d.yaml", Text: []byte("join: [a]\n")}
	if _, err := settings.Apply(flags, from); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"nodes": true, "join": true, "gossip": false, "insecure": false} {
		if flags.Changed(name) != want {
			t.Errorf("%s changed: %v, want %v", name, !want, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		environ []string
		text    string
		want    []string
	}{
		"three in the file": {
			text: "gosip: :1\ncheck-deadline: soon\nnodes: 3\nnodes: 4\n",
			want: []string{
				`d.yaml:1:1: unknown setting "gosip", did you mean "gossip"?`,
				`d.yaml:2:17: check-deadline wants a duration such as 250ms or 1m30s, not "soon"`,
				`d.yaml:4:1: nodes is set twice, first on line 3`,
			},
		},
		"file and environment": {
			environ: []string{"DROSSEL_SHARE=half", "DROSSEL_INSECURE=maybe"},
			text:    "nodes: 1.5\n",
			want: []string{
				`d.yaml:1:8: nodes wants a whole number, not "1.5"`,
				`DROSSEL_INSECURE: insecure wants true or false, not "maybe"`,
				`DROSSEL_SHARE: share wants a number, not "half"`,
			},
		},
		"kinds": {
			text: "join: {a: b}\nnodes: [1]\nshare: ~\ninsecure:\ncheck-deadline: 5\nweights: [1, x, [2], 3, ~, y]\n",
			want: []string{
				`d.yaml:1:7: join takes a value, not a mapping`,
				`d.yaml:2:8: nodes takes one value, not a list`,
				`d.yaml:3:8: share has no value; give one, or leave the line out`,
				`d.yaml:4:10: insecure has no value; give one, or leave the line out`,
				`d.yaml:5:17: check-deadline wants a duration such as 250ms or 1m30s, not "5"`,
				`d.yaml:6:14: weights wants a whole number, not "x"`,
				`d.yaml:6:17: weights takes a list of single values`,
				`d.yaml:6:25: weights takes a list of single values`,
				`d.yaml:6:28: weights wants a whole number, not "y"`,
			},
		},
		"out of range": {
			text: "nodes: 99999999999999999999\n",
			want: []string{`d.yaml:1:8: "99999999999999999999" is out of range for nodes`},
		},
		"quotes": {
			text: `join: 'a,"b'`,
			want: []string{`d.yaml:1:7: "a,\"b" is no value for join: its quotes don't match`},
		},
		"far off": {text: "zzz: 1\n", want: []string{`d.yaml:1:1: unknown setting "zzz"`}},
		"wrong case": {
			text: "Check_Deadline: 1ms\n",
			want: []string{`d.yaml:1:1: unknown setting "Check_Deadline", did you mean "check-deadline"?`},
		},
		"reserved": {
			text: "config: x\nhelp: true\nversion: 1\n",
			want: []string{
				`d.yaml:1:1: config can't be set in a file; give --config on the command line`,
				`d.yaml:2:1: help can't be set in a file; give --help on the command line`,
				`d.yaml:3:1: version can't be set in a file; give --version on the command line`,
			},
		},
		"a list": {
			text: "- gossip\n",
			want: []string{`d.yaml:1:1: want a mapping of settings, each NAME: VALUE`},
		},
		"a text": {
			text: "gossip\n",
			want: []string{`d.yaml:1:1: want a mapping of settings, each NAME: VALUE`},
		},
		"no name": {text: "[a]: b\n", want: []string{`d.yaml:1:1: want the name of a setting`}},
		"two documents": {
			text: "nodes: 2\n---\nnodes: 3\n",
			want: []string{`d.yaml:2:1: a second document; all settings go into one`},
		},
		"no YAML": {
			text: "nodes: [1\njoin: }",
			want: []string{`d.yaml: line 1: did not find expected ',' or ']'`},
		},
		"tab": {
			text: "nodes: 2\n---\n\tx: 1\n",
			want: []string{`d.yaml: line 3: found character that cannot start any token`},
		},
		"overruled": {
			environ: []string{"DROSSEL_NODES=2"},
			text:    "nodes: two\n",
			want:    []string{`d.yaml:1:8: nodes wants a whole number, not "two"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			flags, _ := flagSet()
			_, err := settings.Apply(flags, settings.Sources{Environ: test.environ, File: "d.yaml", Text: []byte(test.text)})
			if !errors.Is(err, settings.ErrInvalid) {
				t.Fatalf("error %v, want one that wraps ErrInvalid", err)
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMistakeOverruled: a mistake that the command line overrules is one all the same, or it would wait for the day on
// which the flag is dropped.
func TestMistakeOverruled(t *testing.T) {
	flags, _ := flagSet()
	if err := flags.Parse([]string{"--nodes=2"}); err != nil {
		t.Fatal(err)
	}
	_, err := settings.Apply(flags, settings.Sources{File: "d.yaml", Text: []byte("nodes: two\n")})
	var mistake *settings.Mistake
	if !errors.As(err, &mistake) || mistake.Where != "d.yaml:1:8" {
		t.Errorf("error %v, want a Mistake at d.yaml:1:8", err)
	}
}

func TestWarnings(t *testing.T) {
	flags, got := flagSet()
	warnings, err := settings.Apply(flags, settings.Sources{
		Environ: []string{
			"DROSSEL_GOSIP=:1", "DROSSEL_CONFIG=x.yaml", "DROSSEL_HELP=true", "DROSSEL_NODES=2", "DROSSEL_WIDTH=80",
			"DROSSEL_SERVICE_HOST=192.0.2.1", "DROSSEL_PORT=tcp://192.0.2.1:7070", "DROSSEL_PORT_7070_TCP_PORT=7070",
			"XDROSSEL_A=1", "DROSSELB=1", "DROSSEL_LATER=", "nonsense",
		},
		Elsewhere: []string{"width"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`DROSSEL_GOSIP is ignored: no setting goes by it, did you mean "DROSSEL_GOSSIP"?`,
		`DROSSEL_HELP is ignored: no setting goes by it`,
	}
	if !slices.Equal(warnings, want) {
		t.Errorf("warnings are %q, want %q", warnings, want)
	}
	if got.Nodes != 2 || got.Gossip != ":7946" {
		t.Errorf("options are %+v, want nodes 2 and the default gossip", got)
	}
}

// TestCommandLineOnly: settings of another command's flag of that name are left alone.
func TestCommandLineOnly(t *testing.T) {
	flags, got := flagSet()
	settings.CommandLineOnly(flags, "gossip", "nodes")
	warnings, err := settings.Apply(flags, settings.Sources{
		Environ: []string{"DROSSEL_NODES=x"}, File: "d.yaml", Text: []byte("gossip: [a, b]\n"), Elsewhere: []string{"gossip", "nodes"},
	})
	if err != nil || warnings != nil || got.Nodes != 1 || got.Gossip != ":7946" {
		t.Errorf("%+v, %v, %v", got, warnings, err)
	}
}

// FuzzApply: no file makes it panic, and every error is one of settings.
func FuzzApply(f *testing.F) {
	for _, text := range []string{
		"nodes: 3\njoin: [a, b]\n", "a: &x [*x]\n", "<<: {nodes: 1}\n", "? {a: b}\n: c\n", "--- |\n x\n...\n",
		"nodes: !!str 3\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		flags, got := flagSet()
		_, err := settings.Apply(flags, settings.Sources{File: "d.yaml", Text: text})
		if err != nil && !errors.Is(err, settings.ErrInvalid) {
			t.Errorf("error %v wraps no ErrInvalid", err)
		}
		if err == nil && flags.Changed("nodes") != (got.Nodes != 1) && !strings.Contains(string(text), "nodes") {
			t.Errorf("nodes is %d, changed: %v, and the text does not name it", got.Nodes, flags.Changed("nodes"))
		}
	})
}
