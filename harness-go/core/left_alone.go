//go:build left_alone

package core

// collects: the runtime collects when it would in a server, and no phase has it give anything back.
const collects = false
