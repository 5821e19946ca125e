package main

import (
	"strings"
	"testing"
)

func TestLimitsImportReads(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "the first line"},
		{"key,teir\n", `column "teir" is not known`},
		{"key,key\n", `column "key" is there twice`},
		{"policy,key,key3,rate\n", `there is a column "key3" and none "key2"`},
		{"policy,key,key2,key2\n", `column "key2" is there twice`},
		{"key,tier\n", "there is no column policy"},
		{"policy,key,tier\napi,ann\n", "2 values, want 3"},
		{"policy,key,tier\napi,\"ann,gold\n", "x.csv:2"},
		{"policy,key,tier,rate\napi,ann,gold,5/s\n", "want one of"},
		{"policy,key,tier,burst\napi,ann,gold,5\n", "burst and name belong"},
		{"policy,key,remove,tier\napi,ann,true,gold\n", "leave one out"},
		{"policy,key,unlimited\napi,ann,yes\n", `unlimited is "yes"`},
		{"policy,key,limits\napi,ann,[{\n", "limits: "},
	} {
		s := drossel(t, c.text, "limits", "import", "-", "--addr", "127.0.0.1:1")
		if s.code != exitNo || !strings.Contains(strings.ReplaceAll(s.errors, "-:", "x.csv:"), c.want) {
			t.Errorf("%q: %+v, want %s", c.text, s, c.want)
		}
	}
	if s := drossel(t, "policy,key,tier\napi,ann,gold\n", "limits", "import", "-", "--addr", "127.0.0.1:1"); s.code != exitUnknown {
		t.Errorf("no node: %+v", s)
	}
	for _, args := range [][]string{{"--tier", "a", "--rate", "1/s"}, {}, {"--burst", "5"}, {"--unlimited", "--name", "x"}, {"--limits", "[{"}} {
		if s := drossel(t, "", append([]string{"limits", "set", "api", "ann"}, args...)...); s.code != exitNo {
			t.Errorf("%v: %+v", args, s)
		}
	}
}
