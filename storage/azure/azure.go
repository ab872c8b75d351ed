// Package azure reads containers of Azure Blob Storage, with a shared access signature
// (SAS) or a token.
//
// A signature needs the permissions to read and to list; `az storage container
// generate-sas --permissions rl` makes one. A token comes from where the program has it,
// such as Microsoft's library:
//
//	o.Token = func(ctx context.Context) (string, error) {
//		t, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
//		return t.Token, err
//	}
package azure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/planktonml/plankton/internal/objectfs"
	"github.com/planktonml/plankton/internal/transfer"
	"github.com/planktonml/plankton/storage"
)

// Options says which container to read, and how. Container is needed, and so is Account or
// Endpoint.
type Options struct {
	Account   string // default AZURE_STORAGE_ACCOUNT
	Container string
	Prefix    string // the folder of the container that is the file system's root; default the whole

	// SAS is a shared access signature, the query of an address: "sv=…&sig=…". Default
	// AZURE_STORAGE_SAS_TOKEN.
	SAS string
	// Token returns a token that holds now, in place of a SAS; it is asked for every
	// request and should keep it until it expires.
	Token     func(context.Context) (string, error)
	Anonymous bool // for containers that are open to all

	Endpoint  string // default https://ACCOUNT.blob.core.windows.net
	Network   storage.Network
	Transport http.RoundTripper // default one of the container's own, over HTTP/1.1
}

// Container is a container, or a folder of one, as a file system. It implements what
// [s3.Bucket] does, and its methods may be called by several goroutines at once.
//
// [s3.Bucket]: https://pkg.go.dev/github.com/planktonml/plankton/storage/s3#Bucket
type Container struct{ *objectfs.FS }

// Open returns a container without asking the server for anything. Ctx is that of all that
// takes none, such as listing; it ends when the program is done with the container. Close
// the container then.
func Open(ctx context.Context, o Options) (*Container, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, fmt.Errorf("azure: %w", err)
	}
	return &Container{objectfs.New(ctx, s, s.client)}, nil
}

// ParseURL splits az://container/prefix.
func ParseURL(s string) (container, prefix string, err error) {
	return objectfs.SplitURL(s, "az", "container")
}

// server is a container at its server, as objectfs takes it.
type server struct {
	client            *transfer.Client
	base              *url.URL // of the account
	container, prefix string
	sas               string
	token             func(context.Context) (string, error) // nil without one
}

func newServer(o Options) (*server, error) {
	s := &server{container: o.Container, token: o.Token}
	if o.Container == "" || strings.ContainsAny(o.Container, "/?#: ") {
		return nil, fmt.Errorf("Container is %q; want the name of a container", o.Container)
	}
	var err error
	if s.prefix, err = objectfs.Prefix(o.Prefix); err != nil {
		return nil, err
	}
	s.sas = strings.TrimPrefix(o.SAS, "?")
	if s.sas == "" && o.Token == nil && !o.Anonymous {
		s.sas = strings.TrimPrefix(os.Getenv("AZURE_STORAGE_SAS_TOKEN"), "?")
	}
	ways := 0
	for _, is := range []bool{s.sas != "", o.Token != nil, o.Anonymous} {
		if is {
			ways++
		}
	}
	switch {
	case ways == 0:
		return nil, errors.New("no credentials: give a SAS (AZURE_STORAGE_SAS_TOKEN), a Token or Anonymous")
	case ways > 1:
		return nil, errors.New("SAS, Token and Anonymous are ways to ask; give one of them")
	}
	endpoint, account := o.Endpoint, o.Account
	if account == "" {
		account = os.Getenv("AZURE_STORAGE_ACCOUNT")
	}
	if endpoint == "" {
		if account == "" || strings.ContainsAny(account, "/?#:. ") {
			return nil, fmt.Errorf("the account is %q; give its name (Account or AZURE_STORAGE_ACCOUNT), or an Endpoint", account)
		}
		endpoint = "https://" + account + ".blob.core.windows.net"
	}
	var ok bool
	if s.base, ok = objectfs.ParseServer(endpoint); !ok {
		return nil, fmt.Errorf("Endpoint is %q; want an address such as https://account.blob.core.windows.net", endpoint)
	}
	s.client, err = transfer.New(o.Network, o.Transport)
	return s, err
}

// Address implements objectfs.Store.
func (s *server) Address() string { return s.base.String() }

// Show implements objectfs.Store.
func (s *server) Show(name string) string {
	return "az://" + s.container + "/" + s.prefix + name
}

// Read implements objectfs.Store.
func (s *server) Read(ctx context.Context, name string, want transfer.Version, off int64, dst []byte) (int, transfer.Version, error) {
	if strings.Contains(name, `\`) {
		return 0, want, fmt.Errorf("%s: %w: the service takes a backslash for a slash, so no blob has one in its name", s.Show(name), fs.ErrNotExist)
	}
	return s.client.ReadRange(ctx, s.request(s.Show(name), "/"+s.prefix+name, ""), want, off, dst)
}

// request describes the request for a path below the container.
func (s *server) request(show, path, query string) *transfer.Request {
	return &transfer.Request{
		Name: show,
		New: func(ctx context.Context) (*http.Request, error) {
			u := *s.base
			u.Path += "/" + s.container + path
			u.RawQuery = query
			if s.sas != "" {
				u.RawQuery = strings.TrimPrefix(query+"&"+s.sas, "&")
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
			if err != nil {
				return nil, err
			}
			r.Header.Set("User-Agent", "plankton")
			r.Header.Set("X-Ms-Version", apiVersion)
			if s.token != nil {
				if err := transfer.SetBearer(r, s.token); err != nil {
					return nil, err
				}
			}
			return r, nil
		},
		Explain: s.explain,
	}
}

// apiVersion is of 2021, since when names that XML cannot hold come encoded.
const apiVersion = "2021-08-06"
