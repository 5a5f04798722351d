use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use actix_web::web::Bytes;
use tokio::sync::mpsc;

/// The body of a stream: what its task sends, for as long as it sends. Dropped when the client is gone, which the
/// task sees.
#[derive(Debug)]
pub(super) struct Frames(pub(super) mpsc::Receiver<Bytes>);

impl MessageBody for Frames {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Infallible>>> {
        self.get_mut().0.poll_recv(cx).map(|frame| frame.map(Ok))
    }
}
