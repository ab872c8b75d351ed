package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/remote"
)

// serveCmd makes rows of a workload for bench --remote. It takes the flags of bench, so that
// one list of flags does for both; those that make no row have no effect.
type serveCmd struct {
	runFlags `embed:""`
	Listen   string `default:"127.0.0.1:0" help:"Address to listen on: host:port, port 0 for any that is free, or unix:path."`
}

func (c *serveCmd) Run(std *stdio) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return c.serve(ctx, std)
}

// serve answers until ctx ends.
func (c *serveCmd) serve(ctx context.Context, std *stdio) error {
	if c.Size < 1 || c.Threads < 0 {
		return usagef("--size %d --threads %d: both must be at least 1", c.Size, c.Threads)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") || c.TLSCA != "" && c.TLSCert == "" {
		return usagef("--tls-cert %q --tls-key %q --tls-ca %q: give a certificate with its key, and only with them an authority for clients", c.TLSCert, c.TLSKey, c.TLSCA)
	}
	o := remote.ServerOptions{PlainText: c.PlainText}
	var err error
	if o.Token, err = c.token(); err != nil {
		return err
	}
	if c.TLSCert != "" {
		if o.TLS, err = remote.ServerTLS(c.TLSCert, c.TLSKey, c.TLSCA); err != nil {
			return err
		}
	}
	config, closeLine := c.config(std)
	config.Rank, config.World = 0, 1
	config.Options = pipeline.Options{BatchSize: 1, Workers: c.Threads, ExactRGB: c.ExactRGB}
	p, data, err := workload.New(ctx, config)
	closeLine()
	if err != nil {
		return runNames.error(err)
	}
	defer data.Close()
	s, err := remote.NewServer(p, o)
	if err != nil {
		return runNames.error(err)
	}
	network, address := "tcp", c.Listen
	if path, ok := strings.CutPrefix(c.Listen, "unix:"); ok {
		network, address = "unix", path
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	if err := c.tell(std, l); err != nil {
		l.Close()
		return err
	}
	return s.Serve(ctx, l)
}

// tell says where the worker listens.
func (c *serveCmd) tell(std *stdio, l net.Listener) error {
	url := "http://" + l.Addr().String()
	switch {
	case l.Addr().Network() == "unix":
		url = "unix:" + l.Addr().String()
	case c.TLSCert != "":
		url = "https://" + l.Addr().String()
	}
	if c.JSON {
		return printJSON(std.out, struct {
			Listening string `json:"listening"`
		}{url})
	}
	_, err := fmt.Fprintf(std.out, "listening on %s\n", url)
	return err
}
