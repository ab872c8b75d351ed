package azure

import (
	"context"
	"encoding/xml"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/planktonml/plankton/internal/objectfs"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/transfer"
)

// listPage is an answer to List Blobs:
// https://learn.microsoft.com/rest/api/storageservices/list-blobs
type listPage struct {
	XMLName    xml.Name `xml:"EnumerationResults"`
	Blobs      []blob   `xml:"Blobs>Blob"`
	Prefixes   []blob   `xml:"Blobs>BlobPrefix"`
	NextMarker string
}

type blob struct {
	Name struct {
		Encoded bool   `xml:",attr"`
		Text    string `xml:",chardata"`
	}
	Properties struct {
		Size     int64  `xml:"Content-Length"`
		Modified string `xml:"Last-Modified"`
		ETag     string `xml:"Etag"`
		Type     string `xml:"ResourceType"`
	}
}

func (b *blob) name() (string, error) {
	if !b.Name.Encoded {
		return b.Name.Text, nil
	}
	return url.PathUnescape(b.Name.Text)
}

func (b *blob) version() transfer.Version {
	v := transfer.Version{Size: b.Properties.Size, ETag: transfer.ParseETag(b.Properties.ETag)}
	if at, err := http.ParseTime(b.Properties.Modified); err == nil {
		v.Modified = at.UTC()
	}
	return v
}

// page gets one answer of a list.
func (s *server) page(ctx context.Context, show, prefix, delimiter, marker string, most int) (*listPage, error) {
	q := url.Values{"restype": {"container"}, "comp": {"list"}, "prefix": {prefix}}
	if delimiter != "" {
		q.Set("delimiter", delimiter)
	}
	if marker != "" {
		q.Set("marker", marker)
	}
	if most > 0 {
		q.Set("maxresults", strconv.Itoa(most))
	}
	body, err := s.client.Document(ctx, s.request(show, "", q.Encode()))
	if err != nil {
		return nil, err
	}
	page := new(listPage)
	if err := xml.Unmarshal(body, page); err != nil {
		return nil, fmt.Errorf("%s: the answer is no list of a container (%w); is the endpoint that of a blob service?", printable.Name(show), err)
	}
	if page.NextMarker == marker && marker != "" {
		return nil, fmt.Errorf("%s: the list goes on with what it has said already", printable.Name(show))
	}
	return page, nil
}

// List implements objectfs.Store.
func (s *server) List(ctx context.Context, folder string, yield func(objectfs.Entry) bool) error {
	prefix := s.prefix + folder
	found := false
	for marker := ""; ; {
		page, err := s.page(ctx, s.Show(folder), prefix, "/", marker, 0)
		if err != nil {
			return err
		}
		for _, all := range [][]blob{page.Blobs, page.Prefixes} {
			for i := range all {
				full, err := all[i].name()
				name, ok := strings.CutPrefix(full, prefix)
				if err != nil || !ok {
					return fmt.Errorf("%s: the list has the name %s, which does not begin with what was asked for", printable.Name(s.Show(folder)), printable.Name(full))
				}
				found = true
				e := objectfs.Entry{Name: strings.TrimSuffix(name, "/"), Folder: strings.HasSuffix(name, "/") || all[i].Properties.Type == "directory"}
				if e.Name == "" {
					continue // what marks the folder
				}
				if !e.Folder {
					e.Version = all[i].version()
				}
				if !yield(e) {
					return nil
				}
			}
		}
		if marker = page.NextMarker; marker == "" {
			break
		}
	}
	if !found && folder == "" && s.prefix != "" {
		return fmt.Errorf("%s: %w: no blob's name begins with %q", s.Show(""), fs.ErrNotExist, s.prefix)
	}
	return nil
}

// Find implements objectfs.Store.
func (s *server) Find(ctx context.Context, name string) (objectfs.Entry, error) {
	if strings.Contains(name, `\`) {
		return objectfs.Entry{}, fs.ErrNotExist // see Read
	}
	full := s.prefix + name
	page, err := s.page(ctx, s.Show(name), full, "", "", 1) // of the names that begin so it is the first
	if err != nil {
		return objectfs.Entry{}, err
	}
	if len(page.Blobs) > 0 {
		first, err := page.Blobs[0].name()
		if err == nil && first == full && page.Blobs[0].Properties.Type != "directory" {
			return objectfs.Entry{Name: name, Version: page.Blobs[0].version()}, nil
		}
	}
	if page, err = s.page(ctx, s.Show(name), full+"/", "", "", 1); err != nil {
		return objectfs.Entry{}, err
	}
	if len(page.Blobs) == 0 {
		return objectfs.Entry{}, fs.ErrNotExist
	}
	return objectfs.Entry{Name: name, Folder: true}, nil
}
