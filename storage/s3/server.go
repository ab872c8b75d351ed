package s3

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/internal/objectfs"
	"github.com/planktonml/plankton/internal/transfer"
)

// server is a bucket at its server, as objectfs takes it.
type server struct {
	client         *transfer.Client
	scheme         string
	at             string // the address as it was given, wherever the server sends to later
	bucket, prefix string
	place          *place
	keys           *keys                     // nil without signatures of version 4
	authorize      func(*http.Request) error // nil without one
	header         http.Header
	skew           atomic.Int64 // how far the server's clock is ahead, in nanoseconds
}

// Address implements objectfs.Store.
func (s *server) Address() string { return s.at }

// Show implements objectfs.Store.
func (s *server) Show(name string) string {
	return s.scheme + "://" + s.bucket + "/" + s.prefix + name
}

// Read implements objectfs.Store.
func (s *server) Read(ctx context.Context, name string, want transfer.Version, off int64, dst []byte) (int, transfer.Version, error) {
	return s.client.ReadRange(ctx, s.request(s.Show(name), s.prefix+name, ""), want, off, dst)
}

// List implements objectfs.Store.
func (s *server) List(ctx context.Context, folder string, yield func(objectfs.Entry) bool) error {
	l := listing{prefix: s.prefix + folder, delimiter: "/"}
	found := false
	for {
		page, err := s.page(ctx, s.Show(folder), &l)
		if err != nil {
			return err
		}
		for i := range page.Contents {
			found = true
			c := &page.Contents[i]
			name := strings.TrimPrefix(c.Key, l.prefix)
			if name == "" {
				continue // an object that marks the folder
			}
			if !yield(objectfs.Entry{Name: name, Version: c.version()}) {
				return nil
			}
		}
		for i := range page.CommonPrefixes {
			found = true
			name := strings.TrimPrefix(page.CommonPrefixes[i].Prefix, l.prefix)
			if !yield(objectfs.Entry{Name: strings.TrimSuffix(name, "/"), Folder: true}) {
				return nil
			}
		}
		if !page.IsTruncated {
			break
		}
		l.token = page.NextContinuationToken
	}
	if !found && folder == "" && s.prefix != "" {
		return fmt.Errorf("%s: %w: no object's key begins with %q", s.Show(""), fs.ErrNotExist, s.prefix)
	}
	return nil
}

// Find implements objectfs.Store.
func (s *server) Find(ctx context.Context, name string) (objectfs.Entry, error) {
	key := s.prefix + name
	// Of the keys that begin with this one it is the first.
	page, err := s.page(ctx, s.Show(name), &listing{prefix: key, most: 1})
	if err != nil {
		return objectfs.Entry{}, err
	}
	if len(page.Contents) > 0 && page.Contents[0].Key == key {
		return objectfs.Entry{Name: name, Version: page.Contents[0].version()}, nil
	}
	if len(page.Contents) > 0 && !strings.HasPrefix(page.Contents[0].Key, key+"/") {
		if page, err = s.page(ctx, s.Show(name), &listing{prefix: key + "/", most: 1}); err != nil {
			return objectfs.Entry{}, err
		}
	}
	if len(page.Contents) == 0 {
		return objectfs.Entry{}, fs.ErrNotExist
	}
	return objectfs.Entry{Name: name, Folder: true}, nil
}

// request describes the request for a key, or with a query for the bucket.
func (s *server) request(show, key, query string) *transfer.Request {
	return &transfer.Request{
		Name:    show,
		New:     func(ctx context.Context) (*http.Request, error) { return s.newRequest(ctx, key, query) },
		Explain: s.explain,
	}
}

func (s *server) newRequest(ctx context.Context, key, query string) (*http.Request, error) {
	u, region := s.place.url(key, query)
	r := (&http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, 8),
	}).WithContext(ctx)
	r.Header["User-Agent"] = userAgent
	for name, values := range s.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case s.authorize != nil:
		if err := s.authorize(r); err != nil {
			return nil, err
		}
	case s.keys != nil:
		key, err := s.keys.get(ctx)
		if err != nil {
			return nil, err
		}
		key.sign(r, emptyHash, region, "s3", time.Now().Add(time.Duration(s.skew.Load())))
	}
	return r, nil
}

var userAgent = []string{"plankton"}
