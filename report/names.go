package report

import "strings"

// verbs are what operators do, by their names.
var verbs = map[string]string{
	"decoders.image":             "decode",
	"decoders.image_random_crop": "decode + crop",
	"crop_mirror_normalize":      "normalize",
}

// shortName returns the name of an operator as a person would say it: fused operators have
// all their names, joined by "+", which are long. Others keep theirs.
func shortName(name string) string {
	parts := strings.Split(name, "+")
	if len(parts) == 1 {
		return name
	}
	for i, part := range parts {
		if verb := verbs[part]; verb != "" {
			parts[i] = verb
		}
	}
	return strings.Join(parts, " + ")
}

// titleWidth is how many characters of a name fit into a box.
const titleWidth = 21

// wrap breaks the name of an operator into lines that fit into a box, in front of the
// "+" of fused operators where that is enough.
func wrap(name string) []string {
	var lines []string
	for i, part := range strings.Split(name, " + ") {
		if i > 0 {
			part = "+ " + part
		}
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(part) <= titleWidth {
			lines[n-1] += " " + part
			continue
		}
		for len(part) > titleWidth {
			cut := strings.LastIndexAny(part[:titleWidth], "_. ")
			if cut < 1 {
				cut = titleWidth - 1
			}
			lines = append(lines, strings.TrimRight(part[:cut+1], " "))
			part = part[cut+1:]
		}
		lines = append(lines, part)
	}
	return lines
}
