// Package file watches a text of policies in a file.
//
// It sees every way in which files change: text written in place, an editor that puts a new file in the old one's stead,
// a file that is deleted and made again, and the swap of a Kubernetes ConfigMap, whose file is a symlink into a directory
// that is a symlink itself. The directory of the file is watched (inotify, kqueue and their like), and the directory in
// which the file is that symlinks lead to. Where there is no such notification, as on NFS, or where a directory above is
// swapped, the file is looked at every few seconds.
//
// A text counts when it has been read twice, 25 ms apart, so that one which is being written is not taken for whole. The
// same holds for a file that is missing or cannot be read.
//
// What it does not do: it does not lock the file. A program that stops for longer in the middle of writing has half of
// its text found; write to another file and rename it.
package file
