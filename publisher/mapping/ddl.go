package mapping

// SideStates are what an event with an entry can be.
const SideStates = "'FAILED', 'DEAD LETTER', 'DISCARDED'"
