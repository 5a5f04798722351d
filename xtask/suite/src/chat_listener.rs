//! A stand-in for a team's chat, which answers every request with `ok` and prints the message.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};
use xtask_fixtures::http::next_request;
use xtask_kit::cmd::{self, Context, Result, fail};

#[derive(clap::Args)]
pub(crate) struct ChatListenerOptions {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:9099")]
    listen: String,
    /// Exit after the first message; fail if none arrives within two minutes
    #[arg(long)]
    once: bool,
}

pub(crate) fn listen(options: &ChatListenerOptions) -> Result {
    let listener =
        TcpListener::bind(&options.listen).context(|| format!("listen on {}", options.listen))?;
    listener.set_nonblocking(true)?;
    let started = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => match message(stream) {
                Ok(text) => {
                    println!("chat received: {text}");
                    if options.once {
                        return Ok(());
                    }
                }
                Err(failure) => eprintln!("chat-listener: {failure}"),
            },
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                if options.once && started.elapsed() > Duration::from_secs(120) {
                    return fail("no chat message arrived within two minutes");
                }
                cmd::nap(Duration::from_millis(20))?;
            }
            Err(e) => return Err(e.into()),
        }
    }
}

/// Reads one request, answers it, and returns the text of its message.
fn message(stream: TcpStream) -> Result<String> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut stream = BufReader::new(stream);
    let Some(request) = next_request(&mut stream) else {
        return fail("an incomplete request");
    };
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    stream.get_mut().write_all(answer.as_bytes())?;
    Ok(text_of(&request.body))
}

/// Returns the `text` (Slack, Mattermost) or `content` (Discord) of a message, otherwise the body.
fn text_of(body: &str) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let field = |name: &str| parsed.as_ref()?.get(name)?.as_str().map(str::to_owned);
    field("text")
        .or_else(|| field("content"))
        .unwrap_or_else(|| body.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_slack_and_of_a_discord_message_is_shown() {
        assert_eq!(text_of(r#"{"text":"mia plans"}"#), "mia plans");
        assert_eq!(text_of(r#"{"content":"mia plans"}"#), "mia plans");
        assert_eq!(text_of("plain "), "plain");
    }
}
