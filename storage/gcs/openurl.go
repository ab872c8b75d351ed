package gcs

import (
	"context"
	"io/fs"
)

// OpenURL opens gs://bucket/prefix with the keys of the environment; see [Open]. It is a
// Scheme of package dataset.
func OpenURL(ctx context.Context, url string) (fs.FS, error) {
	bucket, prefix, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	return Open(ctx, Options{Bucket: bucket, Prefix: prefix})
}
