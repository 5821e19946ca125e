package file

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/drossel-dev/drossel/node/source"
)

// configMap is a directory as the kubelet mounts a ConfigMap: limits.yaml is a link to ..data/limits.yaml, and ..data one to
// a directory of the moment.
type configMap struct {
	dir   string
	swaps int
}

func (c *configMap) path() string { return filepath.Join(c.dir, "limits.yaml") }

// swap puts another text there as the kubelet does (its AtomicWriter): a new directory, a new link beside the old one and
// renamed over it, and only then the old directory goes.
func (c *configMap) swap(t *testing.T, text string) {
	t.Helper()
	data := filepath.Join(c.dir, "..data")
	old, _ := os.Readlink(data) // there is none at first
	c.swaps++
	next := "..2026_03_01_" + strconv.Itoa(c.swaps)
	ok(t, os.Mkdir(filepath.Join(c.dir, next), 0o700))
	write(t, filepath.Join(c.dir, next, "limits.yaml"), text)
	ok(t, os.Symlink(next, data+"_tmp"), os.Rename(data+"_tmp", data))
	if old == "" {
		ok(t, os.Symlink(filepath.Join("..data", "limits.yaml"), c.path()))
		return
	}
	ok(t, os.RemoveAll(filepath.Join(c.dir, old)))
}

func TestConfigMap(t *testing.T) {
	c := &configMap{dir: t.TempDir()}
	c.swap(t, "first")
	w := watch(t, c.path(), never)
	w.finds(t, "first")
	for _, text := range []string{"second", "third", "fourth"} {
		c.swap(t, text)
		start := time.Now()
		w.finds(t, text)
		t.Logf("found %v after the swap", time.Since(start).Round(time.Millisecond))
	}
}

// A pod may be there before its ConfigMap.
func TestConfigMapComesLater(t *testing.T) {
	c := &configMap{dir: t.TempDir()}
	w := watch(t, c.path(), never)
	w.fails(t, source.ErrMissing)
	c.swap(t, "first")
	w.finds(t, "first")
	c.swap(t, "second")
	w.finds(t, "second")
}

// The file that a link leads to changes in a directory of its own, and the link is led elsewhere.
func TestLink(t *testing.T) {
	one, other := policies(t, "first"), policies(t, "second")
	path := filepath.Join(t.TempDir(), "link.yaml")
	ok(t, os.Symlink(one, path))
	w := watch(t, path, never)
	w.finds(t, "first")
	write(t, one, "first, changed")
	w.finds(t, "first, changed")
	ok(t, os.Symlink(other, path+"~"), os.Rename(path+"~", path))
	w.finds(t, "second")
	replace(t, other, "second, changed")
	w.finds(t, "second, changed")
	ok(t, os.Remove(other))
	w.fails(t, source.ErrMissing, path)
	write(t, other, "second, made anew")
	w.finds(t, "second, made anew")
}
