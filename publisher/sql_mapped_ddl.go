package publisher

// sideStates are what an event with an entry can be.
const sideStates = "'FAILED', 'DEAD LETTER', 'DISCARDED'"
