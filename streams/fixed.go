package streams

// single puts every member on one stream.
func single(member []bool) []int {
	stream := make([]int, len(member))
	for v, in := range member {
		if !in {
			stream[v] = -1
		}
	}
	return stream
}

// perBackend puts mixed members on stream 0 and the others, host nodes that
// read device memory among them, on stream 1, or 0 where none is mixed.
func perBackend(p *problem, member []bool) []int {
	stream := single(member)
	mixed := false
	for v, in := range member {
		mixed = mixed || in && p.backend(v) == Mixed
	}
	for v, in := range member {
		if in && mixed && p.backend(v) != Mixed {
			stream[v] = 1
		}
	}
	return stream
}
