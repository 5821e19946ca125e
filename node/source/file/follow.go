package file

import (
	"path/filepath"
	"slices"

	"github.com/fsnotify/fsnotify"
)

// follow has the watcher watch the directory in which the path is, and that in which the file is that it leads to through
// symlinks. Directories and not the file itself: a file that is replaced takes its watch with it. While the path leads
// nowhere what was watched is kept, for the file may come back where it was. What cannot be watched, say a directory that
// isn't there, is tried again at the next look.
func follow(w *fsnotify.Watcher, path string) {
	want := []string{filepath.Dir(path)}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		want = append(want, filepath.Dir(target))
		// Before the others are added: a directory may be watched by another of its names, and the two are one watch.
		for _, dir := range w.WatchList() {
			if !slices.Contains(want, dir) {
				_ = w.Remove(dir) // it may have gone by itself
			}
		}
	}
	for _, dir := range want {
		_ = w.Add(dir) // each time: the name may be another directory's by now
	}
}
