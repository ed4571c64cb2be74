import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A server on Netty with one event loop, and a client. The first word is the provider: JDK, or OPENSSL for tcnative. */
final class NettyServer {
    public static void main(String[] words) throws Exception {
        var own = java.util.Arrays.copyOfRange(words, 1, words.length);
        Program program = new Program(own);
        if (program.isClient()) {
            program.answerCommands(new Client(program, SslProvider.valueOf(words[0])));
            return;
        }
        SslContext context = SslContextBuilder.forServer(program.file("chain.pem").toFile(), program.file("key.pem").toFile())
                .sslProvider(SslProvider.valueOf(words[0]))
                .protocols(program.options.get("-protocol"))
                .build();
        var loop = new NioEventLoopGroup(1);
        listen(program, loop, "-plain", null);
        listen(program, loop, "-tls", context);
        program.answerCommands();
    }

    private static void listen(Program program, NioEventLoopGroup loop, String option, SslContext context) throws Exception {
        new ServerBootstrap()
                .group(loop)
                .channel(NioServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, Program.BACKLOG)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        if (context != null) {
                            SslHandler handler = context.newHandler(channel.alloc());
                            handler.setHandshakeTimeoutMillis(0);
                            channel.pipeline().addLast(handler);
                        }
                        channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(1 << 20), new Answer(program));
                    }
                })
                .bind(program.host(option), program.port(option))
                .sync();
    }

    private static final class Client implements Program.Client {
        private final Program program;
        private final SslContext context;
        private final NioEventLoopGroup loop = new NioEventLoopGroup(1);
        private final List<Channel> connections = new ArrayList<>();
        private final BlockingQueue<FullHttpResponse> answers = new LinkedBlockingQueue<>();

        Client(Program program, SslProvider provider) throws Exception {
            this.program = program;
            context = SslContextBuilder.forClient()
                    .trustManager(program.file("root.pem").toFile())
                    .sslProvider(provider)
                    .protocols(program.options.get("-protocol"))
                    .endpointIdentificationAlgorithm("HTTPS")
                    .build();
        }

        @Override
        public String[] connect(boolean tls, int count) throws Exception {
            String option = tls ? "-tls" : "-plain";
            Bootstrap bootstrap = new Bootstrap()
                    .group(loop)
                    .channel(NioSocketChannel.class)
                    .handler(new ChannelInitializer<SocketChannel>() {
                        @Override
                        protected void initChannel(SocketChannel channel) {
                            if (tls) {
                                SslHandler handler = context.newHandler(channel.alloc(), "localhost", program.port(option));
                                handler.setHandshakeTimeoutMillis(0);
                                channel.pipeline().addLast(handler);
                            }
                            channel.pipeline().addLast(new HttpClientCodec(), new HttpObjectAggregator(1 << 20), new Take(answers));
                        }
                    });
            var opening = new ArrayList<ChannelFuture>();
            for (int one = 0; one < count; one++) {
                opening.add(bootstrap.connect(program.host(option), program.port(option)));
            }
            SslHandler last = null;
            for (ChannelFuture one : opening) {
                Channel channel = one.sync().channel();
                last = channel.pipeline().get(SslHandler.class);
                if (last != null) {
                    last.handshakeFuture().sync();
                }
                connections.add(channel);
            }
            return last == null ? null : new String[] {last.engine().getSession().getProtocol(), last.engine().getSession().getCipherSuite()};
        }

        @Override
        public void ask(byte[] request, int size) throws Exception {
            for (Channel channel : connections) {
                boolean isFull = size > 1;
                var asked = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, isFull ? "/full" : "/small",
                        isFull ? Unpooled.wrappedBuffer(program.body("/full")) : Unpooled.EMPTY_BUFFER);
                asked.headers().set("Host", "localhost").set("Content-Length", isFull ? size : 0);
                channel.writeAndFlush(asked).sync();
                FullHttpResponse answer = answers.poll(20, TimeUnit.SECONDS);
                if (answer == null || answer.status().code() != 200 || answer.content().readableBytes() != size) {
                    throw new IllegalStateException("the server answered " + answer);
                }
                answer.release();
            }
        }

        @Override
        public void close() throws Exception {
            for (Channel channel : connections) {
                channel.close().sync();
            }
            connections.clear();
        }
    }

    private static final class Take extends SimpleChannelInboundHandler<FullHttpResponse> {
        private final BlockingQueue<FullHttpResponse> answers;

        Take(BlockingQueue<FullHttpResponse> answers) {
            this.answers = answers;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpResponse answer) {
            answers.add(answer.retain());
        }
    }

    private static final class Answer extends SimpleChannelInboundHandler<FullHttpRequest> {
        private final Program program;

        Answer(Program program) {
            this.program = program;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            byte[] body = program.body(request.uri());
            var answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(body));
            answer.headers().set("Content-Length", body.length);
            context.writeAndFlush(answer);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close();
        }
    }
}
