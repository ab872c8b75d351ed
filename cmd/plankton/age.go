package main

import "time"

var began = time.Now()

// processAge returns how long this process has been running its own code.
func processAge() time.Duration { return time.Since(began) }
