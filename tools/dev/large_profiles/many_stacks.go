// Allocates from many call stacks, as many_stacks.c does, and writes Go's own heap profile of every block.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
)

const levels = 30 // the outermost 12 have different callers

//go:noinline
func descend(path uint32, level int, size int) []byte {
	if level == 0 {
		return make([]byte, size)
	}
	switch path & 3 {
	case 0:
		return descend(path>>2, level-1, size)
	case 1:
		return descend(path>>2, level-1, size)
	case 2:
		return descend(path>>2, level-1, size)
	default:
		return descend(path>>2, level-1, size)
	}
}

func write(stacks int, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	kept := make([][]byte, stacks)
	for number := range kept {
		kept[number] = descend(uint32(number), levels, 16+16*(number%5))
	}
	runtime.GC() // a profile is of the last collection
	err = pprof.WriteHeapProfile(file)
	runtime.KeepAlive(kept)
	return err
}

func main() {
	runtime.MemProfileRate = 1
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: many_stacks STACKS FILE")
		os.Exit(2)
	}
	stacks, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = write(stacks, os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "many_stacks:", err)
		os.Exit(1)
	}
}
