//! A small server on tokio, hyper and tokio-rustls, for live runs: GET /small is answered with one byte, GET /full, which
//! has a body, with a body as long. It listens in plain HTTP and over TLS, in one thread, and does whatever these
//! crates do by themselves.

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{version, ServerConfig, SupportedProtocolVersion};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let options = read_options()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(serve(&options))
}

/// `-name value`, as many as there are.
fn read_options() -> Result<HashMap<String, String>, Failure> {
    let mut found = HashMap::new();
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().ok_or_else(|| format!("{name}: has no value"))?;
        found.insert(name, value);
    }
    Ok(found)
}

async fn serve(options: &HashMap<String, String>) -> Result<(), Failure> {
    let option = |name: &str| options.get(name).ok_or_else(|| format!("{name} is missing"));
    let plain = TcpListener::bind(option("-plain")?).await?;
    let secure = TcpListener::bind(option("-tls")?).await?;
    let acceptor = TlsAcceptor::from(Arc::new(configure(option("-certs")?, option("-protocol")?)?));
    let body = Bytes::from(vec![b'x'; option("-full")?.parse()?]);
    let of_plain = body.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = plain.accept().await {
            tokio::spawn(hold(stream, of_plain.clone()));
        }
    });
    loop {
        let (stream, _) = secure.accept().await?;
        let (acceptor, body) = (acceptor.clone(), body.clone());
        tokio::spawn(async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                hold(stream, body).await;
            }
        });
    }
}

fn configure(certs: &str, protocol: &str) -> Result<ServerConfig, Failure> {
    static NEW: [&SupportedProtocolVersion; 1] = [&version::TLS13];
    static OLD: [&SupportedProtocolVersion; 1] = [&version::TLS12];
    let versions = match protocol {
        "TLSv1.3" => &NEW,
        "TLSv1.2" => &OLD,
        _ => return Err(format!("-protocol {protocol}: TLSv1.2 or TLSv1.3").into()),
    };
    let chain = CertificateDer::pem_file_iter(format!("{certs}/chain.pem"))?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(format!("{certs}/key.pem"))?;
    let builder = ServerConfig::builder_with_protocol_versions(versions);
    Ok(builder.with_no_client_auth().with_single_cert(chain, key)?)
}

/// Serve one connection until its client ends it.
async fn hold(stream: impl AsyncRead + AsyncWrite + Unpin, body: Bytes) {
    let service = service_fn(move |request| answer(request, body.clone()));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, body: Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let complete = request.into_body().collect().await.is_ok();
    let reply = match (path.as_str(), complete) {
        ("/small", true) => Bytes::from_static(b"x"),
        ("/full", true) => body,
        _ => {
            let mut missing = Response::new(Full::new(Bytes::new()));
            *missing.status_mut() = StatusCode::NOT_FOUND;
            return Ok(missing);
        }
    };
    Ok(Response::new(Full::new(reply)))
}
