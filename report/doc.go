// Package report records what a loader's pipeline does and shows it: as a page of HTML that needs nothing
// beside itself, as a trace that Perfetto and chrome://tracing open, and as a live page of a run that lasts.
//
//	rec := report.New(report.Options{Title: "train"})
//	p, err := pipeline.New(pipeline.Options{BatchSize: 64, Events: rec.Events()}, define)
//	loader, err := iterator.New(iterator.Options{}, p)
//	rec.Attach(loader)
//	http.Handle("/train/", rec) // the live page, for programs that last
//	for b, err := range loader.Epochs(ctx, 10) {
//		…
//		rec.Observe(b) // what samples look like, memory and verdicts over time
//	}
//	err = rec.WriteFiles("out") // report.html and trace.json
//
// `plankton trace` shows its workloads with this package.
package report
