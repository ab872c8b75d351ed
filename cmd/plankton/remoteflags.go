package main

import (
	"fmt"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/rows"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/remote"
)

// remoteFlags say which workers elsewhere make rows, and what both sides show each other.
type remoteFlags struct {
	Remote       []string `placeholder:"URL,…" help:"Addresses of plankton serve, which make rows as well: http://host:port, https://host:port, or unix:path. A name stands for all its addresses."`
	RemoteOnly   bool     `help:"Make rows here only while no worker of --remote does."`
	RemoteCached bool     `help:"Send each row to the worker of --remote that owns its shard or file, because workers keep what they have read."`
	RemoteCut    bool     `help:"Workers of --remote stop behind the resize, so that bytes cross and not float32; the pictures are rounded there, with workers and without. Not for decode and mnist."`
	TokenFile    string   `placeholder:"FILE" help:"The token that workers ask for."`
	TLSCA        string   `name:"tls-ca" placeholder:"FILE" help:"The authority of the other side's certificate (PEM); for serve, it makes certificates of clients a must."`
	TLSCert      string   `name:"tls-cert" placeholder:"FILE" help:"This side's certificate (PEM)."`
	TLSKey       string   `name:"tls-key" placeholder:"FILE" help:"The key of --tls-cert (PEM)."`
	PlainText    bool     `help:"Allow plain HTTP to other machines: the network is trusted."`
}

// token returns what is in --token-file.
func (f *remoteFlags) token() (string, error) {
	if f.TokenFile == "" {
		return "", nil
	}
	return remote.ReadToken(f.TokenFile)
}

// workers returns the workers of --remote, nil where there are none.
func (f *remoteFlags) workers() (rows.Makers, error) {
	if len(f.Remote) == 0 {
		return nil, nil
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return nil, usagef("--tls-cert %q --tls-key %q: give both or neither", f.TLSCert, f.TLSKey)
	}
	w := &remote.Workers{Addresses: f.Remote, Only: f.RemoteOnly, Cached: f.RemoteCached, PlainText: f.PlainText}
	var err error
	if w.Token, err = f.token(); err != nil {
		return nil, err
	}
	if f.TLSCA != "" || f.TLSCert != "" {
		if w.TLS, err = remote.ClientTLS(f.TLSCA, f.TLSCert, f.TLSKey); err != nil {
			return nil, err
		}
	}
	if err := w.Check(); err != nil {
		return nil, usagef("%s", strings.NewReplacer("Remote.Addresses", "--remote", "Use https (Remote.TLS), or set Remote.PlainText", "Use https (--tls-ca), or --plain-text", "Remote.Token", "--token-file").Replace(err.Error()))
	}
	return w, nil
}

// benchRemote is what the workers of --remote did.
type benchRemote struct {
	Rows    int64          `json:"rows"`    // that they made and a batch got
	Retries int64          `json:"retries"` // rows that they were asked for and others made
	Workers []stats.Remote `json:"workers"`
}

// newBenchRemote sums workers up; nil for none.
func newBenchRemote(workers []stats.Remote) *benchRemote {
	if len(workers) == 0 {
		return nil
	}
	b := &benchRemote{Workers: workers}
	for _, w := range workers {
		b.Rows += w.Rows
		b.Retries += w.Stolen + w.Failed + w.Lost
	}
	return b
}

// print writes a line for each worker.
func (b *benchRemote) print(std *stdio) {
	if b == nil {
		return
	}
	for _, w := range b.Workers {
		fmt.Fprintln(std.out, printable.Line(w.String()))
	}
}
