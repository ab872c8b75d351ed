// Package readdir reads folders that may hold millions of files.
package readdir
