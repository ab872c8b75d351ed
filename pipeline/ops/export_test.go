package ops

// EnginePlanes is enginePlanes, for the tests.
const EnginePlanes = enginePlanes
