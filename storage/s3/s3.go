// Package s3 reads buckets of Amazon S3 and of servers that speak its language: MinIO,
// Ceph, Garage, SeaweedFS, versitygw, Google Cloud Storage with HMAC keys, and others. It is
// written over net/http and drags no other module in.
//
// A [Bucket] is a file system whose folders are the parts of keys between slashes. Reading
// one file after a list of its folder costs one request, a list one per thousand names.
//
// # Credentials
//
// By default they come from where Amazon's own tools find them, in this order: the
// environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), a web identity
// (AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, as Kubernetes sets them), the profile files
// (AWS_PROFILE in ~/.aws/credentials and ~/.aws/config, or the files that
// AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name), the container
// (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI, with
// AWS_CONTAINER_AUTHORIZATION_TOKEN or its _FILE), and the machine (the metadata service of
// EC2, version 2). What is not among them, such as single sign-on, comes from Amazon's SDK
// by way of [Options.Credentials]:
//
//	cfg, err := config.LoadDefaultConfig(ctx)
//	o.Credentials = func(ctx context.Context) (s3.Credentials, error) {
//		c, err := cfg.Credentials.Retrieve(ctx)
//		return s3.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken, Expires: c.Expires, Source: c.Source}, err
//	}
//
// # Errors
//
// A server that is away, slow or overloaded is asked again, as [storage.Network] says; an
// error then is a [storage.ErrUnavailable], and so are credentials that are refused. An
// object that is another than when the bucket met it is a *[storage.ChangedError]. Objects
// that are not there are [fs.ErrNotExist], those that may not be read [fs.ErrPermission].
package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/planktonml/plankton/internal/objectfs"
	"github.com/planktonml/plankton/internal/transfer"
	"github.com/planktonml/plankton/storage"
)

// Options says which bucket to read, and how. Bucket is needed.
type Options struct {
	Bucket string
	Prefix string // the folder of the bucket that is the file system's root; default the whole bucket

	// Endpoint is the server's address, such as "http://localhost:9000"; the bucket is
	// then a part of the path. Default AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, endpoint_url
	// of the profile, and else Amazon's server for the region.
	Endpoint string
	// Region is where the bucket is. Default AWS_REGION, AWS_DEFAULT_REGION, region of the
	// profile, and else us-east-1. A bucket of another region is found by what the server
	// says.
	Region string

	// Profile is the section of the profile files; default AWS_PROFILE, and else
	// "default".
	Profile string
	// Credentials returns what requests are signed with. They are kept until five minutes
	// before they expire. Default is the chain in the package's description.
	Credentials func(context.Context) (Credentials, error)
	// Anonymous sends requests without a signature, for buckets that are open to all.
	Anonymous bool
	// Authorize signs a request in a way of its own, such as with a token, in place of
	// Credentials.
	Authorize func(*http.Request) error
	// Header is sent with every request, such as X-Amz-Request-Payer: requester.
	Header http.Header

	Network   storage.Network
	Transport http.RoundTripper // default one of the bucket's own, over HTTP/1.1

	Scheme string // of names in errors; default "s3"
}

// Bucket is a bucket, or a folder of one, as a file system. It implements [fs.ReadDirFS],
// [fs.ReadFileFS], [fs.StatFS], [fs.SubFS], [storage.Versioned] and [storage.Counted]. Files are
// [io.ReaderAt] and [io.Seeker]. Its methods may be called by several goroutines at once.
//
// It remembers what it has listed, some 170 bytes for each object, and that an object was
// met with an entity tag: another one is refused for as long as the bucket is open.
type Bucket struct{ *objectfs.FS }

// Open returns a bucket without asking the server for anything. Ctx is that of all that
// takes none, such as listing; it ends when the program is done with the bucket. Close the
// bucket then.
func Open(ctx context.Context, o Options) (*Bucket, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	return &Bucket{objectfs.New(ctx, s, s.client)}, nil
}

// ParseURL splits s3://bucket/prefix.
func ParseURL(s string) (bucket, prefix string, err error) {
	return objectfs.SplitURL(s, "s3", "bucket")
}

// newServer checks the options and fills in what they leave open.
func newServer(o Options) (*server, error) {
	switch {
	case o.Bucket == "" || strings.ContainsAny(o.Bucket, "/?#: \t\n"):
		return nil, fmt.Errorf("Bucket is %q; want the name of a bucket", o.Bucket)
	case o.Anonymous && (o.Credentials != nil || o.Authorize != nil), o.Credentials != nil && o.Authorize != nil:
		return nil, errors.New("Anonymous, Credentials and Authorize are ways to sign requests; give one of them")
	}
	prefix, err := objectfs.Prefix(o.Prefix)
	if err != nil {
		return nil, err
	}
	env, err := readEnvironment(o.Profile)
	if err != nil {
		return nil, err
	}
	s := &server{
		scheme: "s3", bucket: o.Bucket, prefix: prefix,
		authorize: o.Authorize, header: o.Header,
	}
	if o.Scheme != "" {
		s.scheme = o.Scheme
	}
	region := cmp.Or(o.Region, env.region(), "us-east-1")
	if s.place, err = newPlace(cmp.Or(o.Endpoint, env.endpoint("S3")), o.Bucket, region); err != nil {
		return nil, err
	}
	s.at = s.place.address()
	if !o.Anonymous && o.Authorize == nil {
		chain := o.Credentials
		if chain == nil {
			chain = env.credentials
		}
		s.keys = newKeys(chain)
	}
	s.client, err = transfer.New(o.Network, o.Transport)
	return s, err
}
