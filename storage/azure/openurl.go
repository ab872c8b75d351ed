package azure

import (
	"context"
	"io/fs"
)

// OpenURL opens az://container/prefix of the account that the environment names; see
// [Open]. It is a Scheme of package dataset.
func OpenURL(ctx context.Context, url string) (fs.FS, error) {
	container, prefix, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	return Open(ctx, Options{Container: container, Prefix: prefix})
}
