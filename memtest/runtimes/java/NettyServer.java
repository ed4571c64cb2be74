import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;

/** A server on Netty with one event loop. The first word is the provider of TLS: JDK or OPENSSL, which is tcnative. */
final class NettyServer {
    public static void main(String[] words) throws Exception {
        var own = java.util.Arrays.copyOfRange(words, 1, words.length);
        Program program = new Program(own);
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
