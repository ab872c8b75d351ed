package imaging

// OneHot writes one vector per label: on for the class that the label names, off for the others. A label outside the
// classes gives a vector of off alone. The result has the shape len(labels)/inner × classes × inner: with inner = 1
// every vector lies in one piece, with inner = len(labels) the classes are the outermost dimension.
func OneHot[T comparable](dst []T, labels []int64, classes, inner int, on, off T) error {
	if inner < 1 || classes < 0 || len(labels)%inner != 0 || len(dst) != len(labels)*classes {
		return badArgument("one_hot", "%d values for %d labels of %d classes with %d labels inside", len(dst), len(labels), classes, inner)
	}
	var zero T
	if off == zero {
		clear(dst)
	} else {
		for i := range dst {
			dst[i] = off
		}
	}
	for i, label := range labels {
		if label >= 0 && label < int64(classes) {
			dst[(i/inner*classes+int(label))*inner+i%inner] = on
		}
	}
	return nil
}
