package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/transfer"
)

// listing is a request for a part of the bucket's names.
type listing struct {
	prefix    string
	delimiter string
	most      int // names in an answer; 0 for as many as the server likes
	token     string
}

// query returns the query of the request, in the order that a signature wants.
func (l *listing) query() string {
	var b strings.Builder
	add := func(name, value string) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name + "=" + escape(value, false))
	}
	if l.token != "" {
		add("continuation-token", l.token)
	}
	if l.delimiter != "" {
		add("delimiter", l.delimiter)
	}
	add("encoding-type", "url")
	add("list-type", "2")
	if l.most > 0 {
		add("max-keys", strconv.Itoa(l.most))
	}
	add("prefix", l.prefix)
	return b.String()
}

// listPage is an answer to ListObjectsV2.
type listPage struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string
	Contents              []content
	CommonPrefixes        []struct{ Prefix string }
}

type content struct {
	Key          string
	LastModified string
	ETag         string
	Size         int64
}

func (c *content) version() transfer.Version {
	v := transfer.Version{ETag: transfer.ParseETag(c.ETag), Size: c.Size}
	if at, err := time.Parse(time.RFC3339, c.LastModified); err == nil {
		v.Modified = at.UTC().Truncate(time.Second)
	}
	return v
}

// page gets one answer.
func (s *server) page(ctx context.Context, show string, l *listing) (*listPage, error) {
	body, err := s.client.Document(ctx, s.request(show, "", l.query()))
	if err != nil {
		return nil, err
	}
	page, err := parsePage(body)
	if err == nil && page.IsTruncated && (page.NextContinuationToken == "" || page.NextContinuationToken == l.token) {
		err = errors.New("the list goes on, but the server does not say how")
	}
	for i := 0; err == nil && i < len(page.Contents); i++ {
		if !strings.HasPrefix(page.Contents[i].Key, l.prefix) {
			err = fmt.Errorf("the list has the key %s, which does not begin with what was asked for", printable.Name(page.Contents[i].Key))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", printable.Name(show), err)
	}
	return page, nil
}

// parsePage reads an answer and undoes the encoding of its names.
func parsePage(body []byte) (*listPage, error) {
	page, ok := scanPage(body)
	if !ok {
		page = new(listPage)
		if err := xml.Unmarshal(body, page); err != nil {
			return nil, fmt.Errorf("the answer is no list of a bucket (%w); is the endpoint that of an S3 server?", err)
		}
	}
	if page.EncodingType != "url" {
		return page, nil
	}
	var bad error
	decode := func(s *string) {
		plain, err := url.QueryUnescape(*s)
		if err != nil {
			bad = fmt.Errorf("the list has the name %.80q, which is badly encoded: %w", *s, err)
		}
		*s = plain
	}
	for i := range page.Contents {
		decode(&page.Contents[i].Key)
	}
	for i := range page.CommonPrefixes {
		decode(&page.CommonPrefixes[i].Prefix)
	}
	return page, bad
}
