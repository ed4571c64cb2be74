# A server with a thread for each connection, on Ruby's sockets and its OpenSSL; and a client, in one thread.
require "json"
require "openssl"
require "optparse"
require "socket"

options = { role: "server", plain: "127.0.0.1:8080", tls: "127.0.0.1:8443", certs: ".", protocol: "TLSv1.3", full: "16384" }
ARGV.each_slice(2) { |name, value| options[name.delete_prefix("-").to_sym] = value }
VERSIONS = { "TLSv1.2" => OpenSSL::SSL::TLS1_2_VERSION, "TLSv1.3" => OpenSSL::SSL::TLS1_3_VERSION }
SLOT = GC::INTERNAL_CONSTANTS[:RVALUE_SIZE]
SLOTS_OF_PAGE = GC::INTERNAL_CONSTANTS[:HEAP_PAGE_OBJ_LIMIT]

# Slots of the heap in use; what an object has beyond its slot is allocated by malloc.
def read_heap
  found = GC.stat
  slots = found[:heap_eden_pages] + found[:heap_tomb_pages]
  { used_bytes: found[:heap_live_slots] * SLOT, committed_bytes: slots * SLOTS_OF_PAGE * SLOT,
    parts: { slots: found[:heap_live_slots], malloc_increase: found[:malloc_increase_bytes] } }
end

def collect
  2.times { GC.start(full_mark: true, immediate_sweep: true) }
  {}
end

def answer(connection, full)
  loop do
    head = connection.gets("\r\n\r\n") or break
    length = head[/^content-length: *(\d+)/i, 1].to_i
    connection.read(length) if length.positive?
    body = "x" * (head.start_with?("GET /full ") ? full : 1)
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: #{body.size}\r\n\r\n#{body}")
  end
rescue SystemCallError, OpenSSL::SSL::SSLError
  nil # the client has closed
ensure
  connection.close
end

def serve(options)
  context = OpenSSL::SSL::SSLContext.new
  context.min_version = context.max_version = VERSIONS.fetch(options[:protocol])
  certificates = OpenSSL::X509::Certificate.load_file("#{options[:certs]}/chain.pem")
  key = OpenSSL::PKey.read(File.read("#{options[:certs]}/key.pem"))
  context.add_certificate(certificates.first, key, certificates.drop(1))
  [[options[:plain], nil], [options[:tls], context]].each do |address, secure|
    host, port = address.split(":")
    server = TCPServer.new(host, port.to_i)
    server.listen(4096)
    Thread.new do
      loop do
        socket = server.accept
        Thread.new(socket) do |connection|
          Thread.current.report_on_exception = false
          if secure
            connection = OpenSSL::SSL::SSLSocket.new(connection, secure)
            connection.sync_close = true
            connection.accept
          end
          answer(connection, options[:full].to_i)
        end
      end
    end
  end
end

# Connections to a server; each method is a command.
class Client
  def initialize(options)
    @options = options
    @connections = []
    @context = OpenSSL::SSL::SSLContext.new
    @context.min_version = @context.max_version = VERSIONS.fetch(options[:protocol])
    @context.set_params(ca_file: "#{options[:certs]}/root.pem")
  end

  # Opens so many connections, whose handshakes are begun before one is complete.
  def connect(transport, count)
    host, port = @options[transport.to_sym].split(":")
    opened = Array.new(count.to_i) { TCPSocket.new(host, port.to_i) }
    if transport == "tls"
      opened = opened.map do |socket|
        secure = OpenSSL::SSL::SSLSocket.new(socket, @context)
        secure.sync_close = true
        secure.hostname = "localhost"
        secure.connect_nonblock(exception: false)
        secure
      end
      opened.each { |secure| secure.connect; secure.post_connection_check("localhost") }
    end
    @connections.concat(opened)
    transport == "tls" ? { protocol: opened.last.ssl_version, cipher: opened.last.cipher.first } : {}
  end

  # Sends a request on each connection, one after the other, and reads the answer.
  def ask(what)
    size = what == "full" ? @options[:full].to_i : 0
    request = size.positive? ? "GET /full HTTP/1.1\r\nHost: localhost\r\nContent-Length: #{size}\r\n\r\n#{"x" * size}" : "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n"
    @connections.each do |connection|
      connection.write(request)
      connection.flush
      head = connection.gets("\r\n\r\n").to_s
      raise "the server answered #{head.lines.first}" unless head.start_with?("HTTP/1.1 200 ")
      connection.read([1, size].max)
    end
    {}
  end

  def close
    @connections.each(&:close)
    @connections.clear
    {}
  end
end

$stdout.sync = true
commands = { "heap" => method(:read_heap), "collect" => method(:collect) }
if options[:role] == "client"
  client = Client.new(options)
  %w[connect ask close].each { |name| commands[name] = client.method(name) }
else
  serve(options)
end
while (line = $stdin.gets)
  name, *words = line.split
  begin
    puts "#{name} #{commands.fetch(name).call(*words).to_json}"
  rescue StandardError => error
    puts "failed #{error.message.to_json}"
  end
end
