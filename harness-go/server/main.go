// A small server on net/http, for live runs: GET /small is answered with one byte, GET /full, which has a body, with a
// body as long. It listens in plain HTTP and over TLS, and does whatever net/http does by itself; only HTTP/2 is off.
// On SIGUSR1 it collects its garbage, returns free pages to the OS, and says "collected".
package main

import (
	"bytes"
	"crypto/tls"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
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
