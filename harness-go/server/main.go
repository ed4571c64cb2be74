// A small server on net/http, for live runs: GET /small is answered with one byte, GET /full, which has a body, with a
// body as long. It listens in plain HTTP and over TLS, and does whatever net/http does by itself; only HTTP/2 is off.
// It answers a line on stdin by one on stdout: "collect" has it collect its garbage and return free pages to the OS,
// "heap" say what its heap and its goroutines' stacks hold. On SIGUSR1 it collects too, and says "collected".
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
)

var versions = map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}

func main() {
	plain := flag.String("plain", "127.0.0.1:8080", "address of plain HTTP")
	secure := flag.String("tls", "127.0.0.1:8443", "address of HTTP over TLS")
	certs := flag.String("certs", ".", "directory with chain.pem and key.pem")
	protocol := flag.String("protocol", "TLSv1.3", "TLSv1.2 or TLSv1.3, and no other")
	full := flag.Int("full", 16384, "bytes of the body of /full")
	flag.Parse()
	version, known := versions[*protocol]
	if !known {
		log.Fatalf("-protocol %s: TLSv1.2 or TLSv1.3", *protocol)
	}
	server := &http.Server{
		Handler:      handler(*full),
		TLSConfig:    &tls.Config{MinVersion: version, MaxVersion: version},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	go collect()
	go answerCommands()
	failed := make(chan error)
	go func() { failed <- server.Serve(listen(*plain)) }()
	go func() { failed <- server.ServeTLS(listen(*secure), *certs+"/chain.pem", *certs+"/key.pem") }()
	log.Fatal(<-failed)
}

func collect() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	for range asked {
		debug.FreeOSMemory()
		log.Print("collected")
	}
}

func answerCommands() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "collect":
			debug.FreeOSMemory()
			debug.FreeOSMemory()
			fmt.Println("collect {}")
		case "heap":
			fmt.Println("heap " + describeHeap())
		}
	}
}

// describeHeap returns bytes of objects and stacks in use, and what the runtime has of the OS for both.
func describeHeap() string {
	var found runtime.MemStats
	runtime.ReadMemStats(&found)
	used := found.HeapAlloc + found.StackInuse
	committed := found.HeapSys - found.HeapReleased + found.StackInuse
	return fmt.Sprintf(`{"used_bytes": %d, "committed_bytes": %d, "parts": {"objects": %d, "stacks": %d}}`,
		used, committed, found.HeapAlloc, found.StackInuse)
}

func listen(address string) net.Listener {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func handler(size int) http.Handler {
	body := bytes.Repeat([]byte("x"), size)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /small", func(answer http.ResponseWriter, _ *http.Request) { answer.Write([]byte("x")) })
	mux.HandleFunc("GET /full", func(answer http.ResponseWriter, request *http.Request) {
		if _, err := io.Copy(io.Discard, request.Body); err == nil {
			answer.Header().Set("Content-Length", strconv.Itoa(size))
			answer.Write(body)
		}
	})
	return mux
}
