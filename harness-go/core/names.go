package core

import "fmt"

// serverName is one of the names that a server serves, from 0 to run.contexts.names: ServerName, then numbered ones.
func serverName(number int) string {
	if number == 0 {
		return ServerName
	}
	return fmt.Sprintf("name-%05d.example", number)
}

// nameOf is what a pair's client asks for: pair by pair another, the last first; never ServerName, which a server without
// these names serves too.
func nameOf(pair int) string {
	if run.contexts.names == 1 {
		return ServerName
	}
	return serverName(run.contexts.names - 1 - pair%(run.contexts.names-1))
}
