package streams

// What tests outside the package share with those inside.
var (
	AllPolicies   = allPolicies
	DrawGraph     = drawGraph
	DrawRichGraph = drawRichGraph
)
