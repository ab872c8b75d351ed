package objectfs

import (
	"fmt"
	"io/fs"
	"net/url"
	"strings"
)

// Prefix returns what the names of a folder's objects begin with in the store: "" for the whole
// store, or a path that ends in a slash. Slashes around the folder do not count.
func Prefix(folder string) (string, error) {
	prefix := strings.Trim(folder, "/")
	switch {
	case prefix == "":
		return "", nil
	case !fs.ValidPath(prefix) || prefix == ".":
		return "", fmt.Errorf("Prefix is %q; want a folder, such as train/pictures", folder)
	}
	return prefix + "/", nil
}

// SplitURL splits scheme://place/prefix, of which a place is a kind of, such as a bucket.
func SplitURL(address, scheme, kind string) (place, prefix string, err error) {
	rest, ok := strings.CutPrefix(address, scheme+"://")
	place, prefix, _ = strings.Cut(rest, "/")
	if !ok || place == "" {
		return "", "", fmt.Errorf("%q is no address of a %s; want one such as %s://%s/folder", address, kind, scheme, kind)
	}
	return place, prefix, nil
}

// ParseServer parses the address of a server, which has no query; ok is false for what is none.
func ParseServer(address string) (u *url.URL, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return nil, false
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, true
}
