package azure_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"

	"github.com/planktonml/plankton/storage/azure"
)

// The signature is that of the environment, AZURE_STORAGE_SAS_TOKEN.
func Example() {
	container, err := azure.Open(context.Background(), azure.Options{Account: "account", Container: "pictures", Prefix: "train"})
	if err != nil {
		log.Fatal(err)
	}
	defer container.Close()
	entries, err := fs.ReadDir(container, ".")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(entries), "files and folders")
}
