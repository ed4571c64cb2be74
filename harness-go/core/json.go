package core

import (
	"strconv"
	"strings"
)

// The pieces of a JSON object, put together in a static buffer: a line is no garbage.

var line = make([]byte, 0, 1<<16)

func raw(text string) {
	line = append(line, text...)
}

func quoted(text string) {
	line = append(line, '"')
	for _, it := range []byte(text) {
		switch {
		case it == '"' || it == '\\':
			line = append(line, '\\', it)
		case it < 0x20:
			const digits = "0123456789abcdef"
			line = append(line, '\\', 'u', '0', '0', digits[it>>4], digits[it&15])
		default:
			line = append(line, it)
		}
	}
	line = append(line, '"')
}

func key(name string) {
	if last := line[len(line)-1]; last != '{' {
		raw(",")
	}
	quoted(name)
	raw(":")
}

func textOf(name, value string) {
	key(name)
	quoted(value)
}

func number(name string, value uint64) {
	key(name)
	line = strconv.AppendUint(line, value, 10)
}

func flag(name string, value bool) {
	key(name)
	line = strconv.AppendBool(line, value)
}

// pair is [a,b].
func pair(a, b uint64) {
	line = append(strconv.AppendUint(append(line, '['), a, 10), ',')
	line = append(strconv.AppendUint(line, b, 10), ']')
}

// joined is "0,1".
func joined(numbers []int) string {
	var words []string
	for _, it := range numbers {
		words = append(words, strconv.Itoa(it))
	}
	return strings.Join(words, ",")
}
