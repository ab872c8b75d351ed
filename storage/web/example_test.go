package web_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"testing/fstest"

	"github.com/planktonml/plankton/storage/web"
)

func Example() {
	server := httptest.NewServer(http.FileServerFS(fstest.MapFS{
		"list.txt":      {Data: []byte("train/0.tar\ntrain/1.tar\n")},
		"train/0.tar":   {Data: []byte("…")},
		"train/1.tar":   {Data: []byte("…")},
		"not/there.tar": {Data: []byte("…")},
	}))
	defer server.Close()
	ctx := context.Background()
	urls, err := web.Fetch(ctx, server.URL+"/list.txt", web.Options{})
	if err != nil {
		log.Fatal(err)
	}
	site, err := web.Open(ctx, web.Options{URLs: urls})
	if err != nil {
		log.Fatal(err)
	}
	defer site.Close()
	names, err := fs.Glob(site, "*")
	fmt.Println(names, err)
	// Output:
	// [0.tar 1.tar] <nil>
}
