package streamtest_test

import (
	"fmt"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// A reader that does not wait for the writer is found, whatever the
// interleaving was.
func Example() {
	device := streamtest.New(1)
	producer, _ := device.NewStream()
	consumer, _ := device.NewStream()

	producer.Do(func(c *streams.Context) error {
		streamtest.Writes(c, "image")
		return nil
	})
	ready := producer.Record()
	_ = ready // consumer.Wait(ready) is missing
	consumer.Do(func(c *streams.Context) error {
		streamtest.Reads(c, "image")
		return nil
	})
	if err := device.Close(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(device.Races()), "race on", device.Races()[0].Buffer)
	// Output: 1 race on image
}
