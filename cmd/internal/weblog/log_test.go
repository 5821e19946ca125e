package weblog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/drossel-dev/drossel/cmd/internal/weblog"
)

const (
	small  = "../../../test/data/small.log"
	access = "../../../../shared/data/access.log.gz"
)

func line(second int, path string) string {
	return fmt.Sprintf(`192.0.2.1 - - [01/Mar/2026:09:00:%02d +0000] "GET %s HTTP/1.1" 200 7`, second, path)
}

func gzipped(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(t *testing.T, content string) *weblog.Log {
	t.Helper()
	web, err := weblog.Read(strings.NewReader(content))
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return web
}

func paths(web *weblog.Log) []string {
	var all []string
	for _, e := range web.Entries {
		all = append(all, e.Path)
	}
	return all
}

func TestReadSortsStably(t *testing.T) {
	var content strings.Builder
	var want []string
	for i := range 60 { // seconds 1, 0, 1, 0, ...: within a second the order of the lines must stay
		fmt.Fprintln(&content, line((i+1)%2, fmt.Sprint("/", i)))
	}
	for _, first := range []int{1, 0} {
		for i := first; i < 60; i += 2 {
			want = append(want, fmt.Sprint("/", i))
		}
	}
	web := read(t, content.String())
	if got := paths(web); !slices.Equal(got, want) {
		t.Errorf("order is %v, want %v", got, want)
	}
	if first := web.Entries[0].Line; first != 2 {
		t.Errorf("first entry is of line %d, want 2", first)
	}
}

func TestReadLines(t *testing.T) {
	long := strings.Repeat("x", 64<<10-len(line(0, "/")))
	for name, test := range map[string]struct {
		content string
		entries int
		bad     []weblog.BadLine
	}{
		"empty":               {"", 0, nil},
		"one byte":            {"\x1f", 0, []weblog.BadLine{{1, "no [time] after host, ident and user", "?"}}},
		"blank lines":         {"\n \r\n\t\n\r\n", 0, nil},
		"no ending":           {line(1, "/"), 1, nil},
		"CRLF":                {line(1, "/") + "\r\n" + line(2, "/") + "\r\n", 2, nil},
		"longest":             {line(1, "/"+long) + "\n" + line(2, "/"), 2, nil},
		"longest, CRLF":       {line(1, "/"+long) + "\r\n" + line(2, "/"), 2, nil},
		"longest, no ending":  {line(1, "/"+long), 1, nil},
		"one byte too long":   {line(1, "/"+long+"x") + "\n" + line(2, "/"), 1, tooLong(1)},
		"two bytes too long":  {line(1, "/"+long+"xx") + "\n" + line(2, "/"), 1, tooLong(1)},
		"very long":           {line(2, "/") + "\n" + line(1, "/"+long+long+long) + "\n" + line(2, "/"), 2, tooLong(2)},
		"too long, no ending": {line(1, "/"+long+long), 0, tooLong(1)},
	} {
		t.Run(name, func(t *testing.T) {
			web := read(t, test.content)
			if len(web.Entries) != test.entries || web.Skipped != len(test.bad) {
				t.Errorf("%d entries and %d skipped, want %d and %d", len(web.Entries), web.Skipped, test.entries, len(test.bad))
			}
			if diff := cmp.Diff(test.bad, web.Bad); diff != "" {
				t.Errorf("bad lines (-want +got):\n%s", diff)
			}
		})
	}
}

func tooLong(number int) []weblog.BadLine {
	excerpt := line(1, "/"+strings.Repeat("x", 100))[:77] + "..."
	return []weblog.BadLine{{Number: number, Why: "longer than 65536 bytes", Excerpt: excerpt}}
}

func TestReadKeepsFirstBadLines(t *testing.T) {
	var content strings.Builder
	for i := range 8 {
		fmt.Fprintf(&content, "bad \x1b[31m%d\n%s\n", i, line(i, "/"))
	}
	web := read(t, content.String())
	if web.Skipped != 8 || len(web.Entries) != 8 {
		t.Errorf("%d skipped and %d entries, want 8 and 8", web.Skipped, len(web.Entries))
	}
	var want []weblog.BadLine
	for i := range 5 {
		want = append(want, weblog.BadLine{Number: 2*i + 1, Why: "no [time] after host, ident and user",
			Excerpt: fmt.Sprintf("bad ?[31m%d", i)})
	}
	if diff := cmp.Diff(want, web.Bad); diff != "" {
		t.Errorf("bad lines (-want +got):\n%s", diff)
	}
}

func TestReadGzip(t *testing.T) {
	one, two := gzipped(t, line(1, "/a")+"\n"+line(2, "/b")), gzipped(t, "x\n"+line(3, "/c")+"\n")
	web, err := weblog.Read(iotest.OneByteReader(bytes.NewReader(slices.Concat(one, two))))
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	// The members are one text: the line that the first leaves open goes on in the second.
	if got := paths(web); !slices.Equal(got, []string{"/a", "/c"}) || web.Skipped != 1 {
		t.Errorf("paths %v and %d skipped, want [/a /c] and 1", got, web.Skipped)
	}
	if web, err = weblog.Read(bytes.NewReader(gzipped(t, ""))); err != nil || len(web.Entries) != 0 {
		t.Errorf("empty gzip: %v, %v; want no entry and no error", web, err)
	}
}

func TestReadDamagedGzip(t *testing.T) {
	var content strings.Builder
	for i := range 20000 { // numbers, so that it does not shrink to nothing
		fmt.Fprintln(&content, line(i%60, fmt.Sprint("/", i*7919%20011)))
	}
	whole := gzipped(t, content.String())
	broken := slices.Clone(whole)
	broken[len(broken)-5] ^= 1 // in the checksum
	for name, test := range map[string]struct {
		content []byte
		text    string
	}{
		"half":            {whole[:len(whole)/2], "ends early, after "},
		"no checksum":     {whole[:len(whole)-8], "ends early, after 20000 whole lines"},
		"half a header":   {whole[:5], "ends early, after 0 whole lines"},
		"only its magic":  {whole[:2], "ends early, after 0 whole lines"},
		"false checksum":  {broken, "broken after 20000 whole lines"},
		"text after it":   {append(slices.Clone(whole), "more text"...), "after 20000 whole lines"},
		"no such method":  {[]byte("\x1f\x8bxxxxxxxxxxxxxxxx"), "broken after 0 whole lines"},
		"no such data":    {append(slices.Clone(whole[:10]), 0xff, 0xff, 0xff), "broken after 0 whole lines"},
		"second one half": {slices.Concat(gzipped(t, line(1, "/")+"\n"), whole[:15]), "ends early, after 1 whole lines"},
	} {
		t.Run(name, func(t *testing.T) {
			web, err := weblog.Read(bytes.NewReader(test.content))
			if web != nil || !errors.Is(err, weblog.ErrDamaged) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("Read = %v, %v; want ErrDamaged saying %q", web, err, test.text)
			}
		})
	}
	_, err := weblog.Read(bytes.NewReader(whole[:len(whole)/2]))
	var lines int
	if _, scanErr := fmt.Sscanf(err.Error(), "damaged gzip data: it ends early, after %d whole", &lines); scanErr != nil {
		t.Fatalf("%q: %v", err, scanErr)
	}
	if lines < 8000 || lines > 12000 {
		t.Errorf("half of 20000 lines gives %d lines", lines)
	}
}

func TestReadPassesErrorsOn(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, content := range map[string]string{"at once": "", "after a line": line(1, "/") + "\n" + line(2, "/")} {
		_, err := weblog.Read(io.MultiReader(strings.NewReader(content), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || errors.Is(err, weblog.ErrDamaged) {
			t.Errorf("%s: error %v, want the reader's own", name, err)
		}
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "plain-name")
	if err := os.WriteFile(name, gzipped(t, line(1, "/file")), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin := strings.NewReader(line(1, "/stdin"))
	for given, want := range map[string]string{name: "/file", "-": "/stdin"} {
		web, err := weblog.ReadFile(given, stdin)
		if err != nil || len(web.Entries) != 1 || web.Entries[0].Path != want {
			t.Errorf("ReadFile(%s) = %v, %v; want one entry for %s", given, web, err, want)
		}
	}
	if _, err := weblog.ReadFile(filepath.Join(dir, "absent"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: error %v, want ErrNotExist", err)
	}
	if _, err := weblog.ReadFile(dir, nil); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("directory: error %v, want one that names it", err)
	}
}

func TestAttributes(t *testing.T) {
	web := read(t, `192.0.2.1 - - [01/Mar/2026:09:00:03 +0000] "GET http://example.com/a?b=c HTTP/1.1" 200 7 "-" "curl/8"`)
	e := web.Entries[0]
	want := map[string]string{"ip": "192.0.2.1", "method": "GET", "path": "/a", "route": "/a", "query": "b=c",
		"host": "example.com", "proto": "HTTP/1.1", "status": "200", "agent": "curl/8"}
	if diff := cmp.Diff(want, e.Attributes()); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	names := weblog.AttributeNames()
	if !slices.IsSorted(names) || len(names) != 12 {
		t.Errorf("names are %v, want 12 sorted ones", names)
	}
	for _, name := range append(names, "colour", "") {
		value, ok := e.Attribute(name)
		if _, has := want[name]; value != want[name] || ok != has {
			t.Errorf("Attribute(%q) = %q, %v; want %q, %v", name, value, ok, want[name], has)
		}
	}
}

func TestSmallLog(t *testing.T) {
	web, err := weblog.ReadFile(small, nil)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, b := range web.Bad {
		numbers = append(numbers, b.Number)
	}
	if len(web.Entries) != 53 || web.Skipped != 6 || !slices.Equal(numbers, []int{19, 32, 42, 53, 55}) {
		t.Errorf("%d entries, %d skipped, first bad %v; want 53, 6, [19 32 42 53 55]", len(web.Entries), web.Skipped, numbers)
	}
	if !slices.IsSortedFunc(web.Entries, func(a, b weblog.Entry) int { return a.At.Compare(b.At) }) {
		t.Error("entries are not in the order of time")
	}
	users := map[string]int{}
	for _, e := range web.Entries {
		users[e.User]++
	}
	want := map[string]int{"": 26, "alice": 8, "bob": 16, "carol jones": 3}
	if diff := cmp.Diff(want, users); diff != "" {
		t.Errorf("entries by user (-want +got):\n%s", diff)
	}
}

// TestAccessLog reads a real log: 10,000 lines, which are not in the order of time.
func TestAccessLog(t *testing.T) {
	if _, err := os.Stat(access); err != nil {
		t.Skip("no real log here")
	}
	web, err := weblog.ReadFile(access, nil)
	if err != nil {
		t.Fatal(err)
	}
	ips := map[string]bool{}
	for _, e := range web.Entries {
		ips[e.IP] = true
	}
	if len(web.Entries) != 10000 || web.Skipped != 0 {
		t.Errorf("%d entries and %d skipped, want 10000 and 0", len(web.Entries), web.Skipped)
	}
	if !slices.IsSortedFunc(web.Entries, func(a, b weblog.Entry) int { return a.At.Compare(b.At) }) {
		t.Error("entries are not in the order of time")
	}
	t.Logf("%d addresses from %v to %v", len(ips), web.Entries[0].At, web.Entries[len(web.Entries)-1].At)
}
