package web

import (
	"context"
	"io/fs"
	"net/url"
	"strings"
)

// OpenURL opens a file on the web, or those of a list of addresses, whose name ends in
// .txt. It is a Scheme of package dataset, for "http" and "https".
func OpenURL(ctx context.Context, address string) (fs.FS, error) {
	urls := []string{address}
	if u, err := url.Parse(address); err == nil && strings.HasSuffix(strings.ToLower(u.Path), ".txt") {
		if urls, err = Fetch(ctx, address, Options{}); err != nil {
			return nil, err
		}
	}
	return Open(ctx, Options{URLs: urls})
}
