//! A target that a test writes itself: it hears whole requests, keeps them, and answers as the test says.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
};

#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `POST /path HTTP/1.1` and the headers, in small letters where they are names.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn is_post(&self) -> bool {
        self.head.starts_with("POST")
    }
}

pub(crate) enum Answer {
    /// A status and a body.
    Json(u16, String),
    /// The line stays open, and nothing is said.
    Never,
}

/// Holds back answers until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn pass(&self) {
        let (open, bell) = &*self.0;
        drop(bell.wait_while(open.lock().unwrap(), |open| !*open).unwrap());
    }

    pub(crate) fn open(&self) {
        let (open, bell) = &*self.0;
        *open.lock().unwrap() = true;
        bell.notify_all();
    }
}

pub(crate) struct Desk {
    pub(crate) address: String,
    heard: Arc<Mutex<Vec<Request>>>,
}

impl Desk {
    pub(crate) fn open(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0", answer)
    }

    /// Opens at a place that may have been empty until now.
    pub(crate) fn at(place: &str, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(place).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (heard, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let keep = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (keep, answer) = (Arc::clone(&keep), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &keep, &*answer));
            }
        });
        Self { address, heard }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.heard.lock().unwrap().clone()
    }

    /// Requests that ask for an effect.
    pub(crate) fn posts(&self) -> usize {
        self.requests().iter().filter(|r| r.is_post()).count()
    }
}

fn serve(stream: TcpStream, keep: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request) -> Answer) {
    let mut reader = BufReader::new(stream);
    let Some(request) = read(&mut reader) else { return };
    keep.lock().unwrap().push(request.clone());
    match answer(&request) {
        Answer::Json(status, body) => {
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            drop(reader.get_mut().write_all(head.as_bytes()));
            drop(reader.get_mut().write_all(body.as_bytes()));
        }
        // Reads until the caller leaves.
        Answer::Never => drop(std::io::copy(&mut reader, &mut std::io::sink())),
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let mut request = Request { head, body: String::new() };
    let length = request.header("content-length").and_then(|n| n.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    Some(request)
}
