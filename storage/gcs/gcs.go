// Package gcs reads buckets of Google Cloud Storage by its XML interface, which is that of
// S3: with HMAC keys as package s3 signs, or with a token.
//
// HMAC keys belong to a service account and do not expire; `gcloud storage hmac create`
// makes them. A token comes from where the program has it, such as Google's library:
//
//	source, err := google.DefaultTokenSource(ctx, "https://www.googleapis.com/auth/devstorage.read_only")
//	o.Token = func(context.Context) (string, error) {
//		t, err := source.Token()
//		if err != nil {
//			return "", err
//		}
//		return t.AccessToken, nil
//	}
package gcs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/planktonml/plankton/internal/objectfs"
	"github.com/planktonml/plankton/internal/transfer"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/s3"
)

// Options says which bucket to read, and how. Bucket is needed, and one way to ask:
// an HMAC key, a Token or Anonymous. Without any of them GCS_ACCESS_KEY_ID and
// GCS_SECRET_ACCESS_KEY are an HMAC key, or GCS_TOKEN is a token.
type Options struct {
	Bucket string
	Prefix string // the folder of the bucket that is the file system's root; default the whole bucket

	AccessKeyID, SecretAccessKey string // an HMAC key

	// Token returns a token that holds now; it is asked for every request and should keep
	// it until it expires.
	Token     func(context.Context) (string, error)
	Anonymous bool // for buckets that are open to all

	Endpoint  string // default STORAGE_EMULATOR_HOST, or https://storage.googleapis.com
	Network   storage.Network
	Transport http.RoundTripper // default one of the bucket's own, over HTTP/1.1
}

// Open returns a bucket without asking the server for anything; see [s3.Open]. In errors
// it is named gs://bucket.
func Open(ctx context.Context, o Options) (*s3.Bucket, error) {
	to := s3.Options{
		Bucket: o.Bucket, Prefix: o.Prefix, Scheme: "gs", Region: "auto",
		Endpoint: cmp.Or(o.Endpoint, os.Getenv("STORAGE_EMULATOR_HOST"), "https://storage.googleapis.com"),
		Network:  o.Network, Transport: o.Transport,
		// Who takes compressed bytes gets those that are stored, of which ranges are.
		Header: http.Header{"Accept-Encoding": {"gzip"}},
	}
	key, secret, token := o.AccessKeyID, o.SecretAccessKey, o.Token
	if key == "" && secret == "" && token == nil && !o.Anonymous {
		key, secret = os.Getenv("GCS_ACCESS_KEY_ID"), os.Getenv("GCS_SECRET_ACCESS_KEY")
		if fixed := os.Getenv("GCS_TOKEN"); key == "" && fixed != "" {
			token = func(context.Context) (string, error) { return fixed, nil }
		}
	}
	switch {
	case key != "" && secret != "" && token == nil && !o.Anonymous:
		to.Credentials = func(context.Context) (s3.Credentials, error) {
			return s3.Credentials{AccessKeyID: key, SecretAccessKey: secret, Source: "the HMAC key"}, nil
		}
	case key == "" && secret == "" && token != nil && !o.Anonymous:
		to.Authorize = func(r *http.Request) error { return transfer.SetBearer(r, token) }
	case key == "" && secret == "" && token == nil && o.Anonymous:
		to.Anonymous = true
	case key == "" && secret == "" && token == nil:
		return nil, errors.New("gcs: no credentials: give an HMAC key (AccessKeyID and SecretAccessKey, or GCS_ACCESS_KEY_ID and GCS_SECRET_ACCESS_KEY), a Token (GCS_TOKEN) or Anonymous")
	default:
		return nil, errors.New("gcs: an HMAC key of two parts, Token and Anonymous are ways to ask; give one of them")
	}
	b, err := s3.Open(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("gcs: %w", err)
	}
	return b, nil
}

// ParseURL splits gs://bucket/prefix.
func ParseURL(s string) (bucket, prefix string, err error) {
	return objectfs.SplitURL(s, "gs", "bucket")
}
