package main

import (
	"fmt"
	"strconv"
	"strings"
)

// place is the value of --resume: so many steps into an epoch, both counted from
// 0, read by another number of ranks or, where shards is 0, by the same.
type place struct {
	epoch, step int64
	shards      int
}

// parsePlace reads EPOCH:STEP or EPOCH:STEP@SHARDS.
func parsePlace(s string) (p place, err error) {
	malformed := fmt.Errorf("--resume is %q; want EPOCH:STEP or EPOCH:STEP@SHARDS, such as 1:20@4", s)
	at, world, changed := strings.Cut(s, "@")
	if changed {
		if p.shards, err = strconv.Atoi(world); err != nil || p.shards < 1 {
			return p, malformed
		}
	}
	e, k, ok := strings.Cut(at, ":")
	var err1, err2 error
	p.epoch, err1 = strconv.ParseInt(e, 10, 64)
	p.step, err2 = strconv.ParseInt(k, 10, 64)
	if !ok || err1 != nil || err2 != nil || p.epoch < 0 || p.step < 0 {
		return p, malformed
	}
	return p, nil
}
