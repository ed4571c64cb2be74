//go:build !left_alone

package core

// collects: each phase's end collects, and gives back what is free.
const collects = true
