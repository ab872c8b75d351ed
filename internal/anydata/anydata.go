// Package anydata opens data in all the formats and places that there are, as the command
// line takes them.
package anydata

import (
	"context"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/pipeline/readers/parquet"
	"github.com/planktonml/plankton/storage/azure"
	"github.com/planktonml/plankton/storage/gcs"
	"github.com/planktonml/plankton/storage/s3"
	"github.com/planktonml/plankton/storage/web"
)

// Open is dataset.Open with all schemes and formats.
func Open(ctx context.Context, data string, o dataset.Options) (*dataset.Data, error) {
	o.Schemes = map[string]dataset.Scheme{"s3": s3.OpenURL, "gs": gcs.OpenURL, "az": azure.OpenURL, "http": web.OpenURL, "https": web.OpenURL}
	o.Formats = map[string]dataset.Format{".parquet": parquet.OpenShards}
	return dataset.Open(ctx, data, o)
}
