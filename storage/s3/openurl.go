package s3

import (
	"context"
	"io/fs"
)

// OpenURL opens s3://bucket/prefix with the server and the keys of the environment; see
// [Open]. It is a Scheme of package dataset.
func OpenURL(ctx context.Context, url string) (fs.FS, error) {
	bucket, prefix, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	return Open(ctx, Options{Bucket: bucket, Prefix: prefix})
}
