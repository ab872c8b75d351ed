// Package web reads files that a web server has, by HTTP or HTTPS and in ranges. A web
// server does not say what it has: a list of addresses does.
package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/planktonml/plankton/internal/objectfs"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/transfer"
	"github.com/planktonml/plankton/storage"
)

// Options says what to read, and how. URLs is needed.
type Options struct {
	// URLs are the addresses of the files. Their names in the file system are what they
	// do not have in common: of https://a.example/x/1.tar and https://a.example/x/y/2.tar
	// they are 1.tar and y/2.tar. Addresses with a query, such as signed ones, are named
	// by their path.
	URLs []string

	Header    http.Header // sent with every request to the hosts of URLs, such as a token
	Network   storage.Network
	Transport http.RoundTripper // default one of the site's own, over HTTP/1.1
}

// Site is files of web servers as a file system. It implements what [s3.Bucket] does. How
// large a file is shows when it is opened or described first, at the cost of a request.
// Its methods may be called by several goroutines at once.
//
// [s3.Bucket]: https://pkg.go.dev/github.com/planktonml/plankton/storage/s3#Bucket
type Site struct{ *objectfs.FS }

// Open returns the file system of some addresses without asking for any of them. Ctx is
// that of all that takes none, such as [fs.FS.Open]; it ends when the program is done with
// the site. Close the site then.
func Open(ctx context.Context, o Options) (*Site, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return &Site{objectfs.New(ctx, s, s.client)}, nil
}

// Fetch gets a list of addresses, one on a line and relative to that of the list where
// they are not whole; empty lines and those that begin with a # do not count. The options
// have no URLs.
func Fetch(ctx context.Context, list string, o Options) ([]string, error) {
	base, err := parse(list)
	if err != nil {
		return nil, fmt.Errorf("web: the list: %w", err)
	}
	client, err := transfer.New(o.Network, o.Transport)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	defer client.Close()
	s := &server{client: client, header: o.Header}
	text, err := client.Document(ctx, s.request(base))
	if err != nil {
		return nil, err
	}
	urls, err := parseList(base, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", printable.Name(list), err)
	}
	return urls, nil
}

func parseList(base *url.URL, text []byte) (urls []string, err error) {
	scan := bufio.NewScanner(bytes.NewReader(text))
	scan.Buffer(nil, 1<<16)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(scan.Text(), "\uFEFF"))
		if line == "" || line[0] == '#' {
			continue
		}
		u, err := base.Parse(line)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			line, _, _ = strings.Cut(line, "?")
			return nil, fmt.Errorf("line %d is %.100q; want an address, one on a line", n, line)
		}
		urls = append(urls, u.String())
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if len(urls) == 0 {
		return nil, errors.New("the list names no files; write one address on a line")
	}
	return urls, nil
}

func parse(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		s, _, _ = strings.Cut(s, "?") // what follows may be a secret
		return nil, fmt.Errorf("%.200q is no address; want one such as https://example.org/train-0000.tar", s)
	}
	u.Fragment = ""
	return u, nil
}

// server is the addresses by their names.
type server struct {
	client  *transfer.Client
	header  http.Header
	files   map[string]*url.URL
	folders map[string][]objectfs.Entry // by their names, with slashes at the end
}

func newServer(o Options) (*server, error) {
	if len(o.URLs) == 0 {
		return nil, errors.New("URLs is empty; give the addresses of the files")
	}
	s := &server{header: o.Header, files: map[string]*url.URL{}, folders: map[string][]objectfs.Entry{"": nil}}
	all := make([]*url.URL, len(o.URLs))
	names := make([]string, len(o.URLs))
	for i, text := range o.URLs {
		u, err := parse(text)
		if err != nil {
			return nil, err
		}
		all[i], names[i] = u, u.Scheme+"://"+u.Host+"/"+strings.TrimLeft(u.Path, "/")
	}
	common := commonFolder(names)
	for i, name := range names {
		name = name[common:]
		if !fs.ValidPath(name) || name == "." {
			return nil, fmt.Errorf("%.200q names no file: an element of its path is empty, a dot or two", show(all[i]))
		}
		if s.files[name] != nil {
			return nil, fmt.Errorf("%.200q is there twice, or another address has the same path", show(all[i]))
		}
		s.files[name] = all[i]
		s.add(name)
	}
	for name := range s.files {
		if _, ok := s.folders[name+"/"]; ok {
			return nil, fmt.Errorf("%s is a file and a folder of other addresses as well", printable.Name(s.Show(name)))
		}
	}
	var err error
	s.client, err = transfer.New(o.Network, o.Transport)
	return s, err
}

// commonFolder returns how much of their beginnings names have in common, up to a slash.
// At least it is the scheme.
func commonFolder(names []string) int {
	n := strings.LastIndexByte(names[0], '/') + 1
	for _, name := range names[1:] {
		for n > 0 && (len(name) < n || name[:n] != names[0][:n]) {
			n = strings.LastIndexByte(names[0][:n-1], '/') + 1
		}
	}
	if scheme := strings.Index(names[0], "://") + len("://"); n < scheme {
		return min(scheme, len(names[0]))
	}
	return n
}

// add puts a file into the lists of its folders.
func (s *server) add(name string) {
	entry := objectfs.Entry{Name: path.Base(name), Version: transfer.Unknown}
	for folder := path.Dir(name); ; folder = path.Dir(folder) {
		key := folder + "/"
		if folder == "." {
			key = ""
		}
		_, known := s.folders[key]
		s.folders[key] = append(s.folders[key], entry)
		if known || key == "" {
			return
		}
		entry = objectfs.Entry{Name: path.Base(folder), Folder: true}
	}
}

// Address implements objectfs.Store. The names of files are whole addresses.
func (s *server) Address() string { return "" }

// Show implements objectfs.Store.
func (s *server) Show(name string) string {
	if u := s.files[name]; u != nil {
		return show(u)
	}
	return name
}

// show leaves out what may be a secret.
func show(u *url.URL) string {
	shown := *u
	shown.RawQuery, shown.User = "", nil
	return shown.String()
}

// List implements objectfs.Store.
func (s *server) List(_ context.Context, folder string, yield func(objectfs.Entry) bool) error {
	for _, e := range s.folders[folder] {
		if !yield(e) {
			break
		}
	}
	return nil
}

// Find implements objectfs.Store. A file is asked for one byte, and thereby its size.
func (s *server) Find(ctx context.Context, name string) (objectfs.Entry, error) {
	if _, ok := s.folders[name+"/"]; ok {
		return objectfs.Entry{Name: name, Folder: true}, nil
	}
	u := s.files[name]
	if u == nil {
		return objectfs.Entry{}, fs.ErrNotExist
	}
	_, is, err := s.client.ReadRange(ctx, s.request(u), transfer.Unknown, 0, make([]byte, 1))
	if is.Size < 0 {
		if err == nil {
			err = fmt.Errorf("%s: the server does not say how long the file is", s.Show(name))
		}
		return objectfs.Entry{}, err
	}
	return objectfs.Entry{Name: name, Version: is}, nil
}

// Read implements objectfs.Store.
func (s *server) Read(ctx context.Context, name string, want transfer.Version, off int64, dst []byte) (int, transfer.Version, error) {
	u := s.files[name]
	if u == nil {
		return 0, want, fmt.Errorf("%s: %w: no address ends in this", printable.Name(name), fs.ErrNotExist)
	}
	return s.client.ReadRange(ctx, s.request(u), want, off, dst)
}

func (s *server) request(u *url.URL) *transfer.Request {
	return &transfer.Request{
		Name: show(u),
		New: func(ctx context.Context) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
			if err != nil {
				return nil, err
			}
			for name, values := range s.header {
				r.Header[name] = values
			}
			r.Header.Set("User-Agent", "plankton")
			if u.User != nil {
				password, _ := u.User.Password()
				r.SetBasicAuth(u.User.Username(), password)
			}
			return r, nil
		},
		Explain: func(r *http.Response, _ []byte) transfer.Verdict { return explain(r) },
	}
}

func explain(r *http.Response) transfer.Verdict {
	err := fmt.Errorf("%s answers %s", r.Request.URL.Host, printable.Line(r.Status))
	switch r.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		u, parseErr := r.Request.URL.Parse(r.Header.Get("Location"))
		if parseErr == nil && r.Header.Get("Location") != "" && (u.Scheme == "https" || u.Scheme == r.Request.URL.Scheme && u.Scheme == "http") {
			return transfer.Verdict{Follow: u}
		}
	case http.StatusNotFound, http.StatusGone:
		return transfer.Verdict{Err: fmt.Errorf("%w: %w", fs.ErrNotExist, err)}
	case http.StatusForbidden, http.StatusUnauthorized:
		return transfer.Verdict{Err: fmt.Errorf("%w: %w; give an address that may be read, or a token in Header", fs.ErrPermission, err)}
	}
	return transfer.ByStatus(r, err)
}
