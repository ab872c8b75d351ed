package gorgoniaplugin

// Lend is the part of a step that a feed adds to its loader's.
var Lend = (*Feed).lend
