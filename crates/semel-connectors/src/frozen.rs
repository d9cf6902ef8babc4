//! Reads a frozen request out of its stored form.
//!
//! Invariant: what is not understood to the last field is not sent.

use crate::obstacle::Obstacle;
use semel_kernel::json::Json;
use semel_ports::request::{HttpRequest, Part, Template};

/// The names of a stored request's fields.
const FIELDS: [&str; 5] = ["method", "url", "headers", "body", "ca_file"];

/// Reads a stored request.
pub(crate) fn read(stored: &Json) -> Result<HttpRequest, Obstacle> {
    decode(stored).map_err(|what| Obstacle::Request(format!("its stored form cannot be read: {what}")))
}

fn decode(stored: &Json) -> Result<HttpRequest, String> {
    let Json::Obj(fields) = stored else { return Err("it is not an object".to_owned()) };
    if let Some(name) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!("the field `{name}` is not known to this version"));
    }
    let field = |name: &str| fields.get(name).filter(|value| **value != Json::Null);
    let needed = |name: &str| field(name).ok_or_else(|| format!("the field `{name}` is missing"));
    Ok(HttpRequest {
        method: text(needed("method")?)?,
        url: template(needed("url")?)?,
        headers: list(needed("headers")?)?.iter().map(header).collect::<Result<_, _>>()?,
        body: field("body").map(template).transpose()?,
        ca_file: field("ca_file").map(text).transpose()?,
    })
}

fn header(stored: &Json) -> Result<(String, Template), String> {
    match list(stored)? {
        [name, value] => Ok((text(name)?, template(value)?)),
        _ => Err("a header is a name and a value".to_owned()),
    }
}

fn template(stored: &Json) -> Result<Template, String> {
    list(stored)?.iter().map(part).collect::<Result<_, _>>().map(Template)
}

fn part(stored: &Json) -> Result<Part, String> {
    match stored {
        Json::Str(word) => bare_part(word),
        Json::Obj(fields) => match fields.iter().next() {
            Some((name, value)) if fields.len() == 1 => named_part(name, value),
            Some(_) | None => Err("a part has one name".to_owned()),
        },
        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Arr(_) => {
            Err("a part is a word or an object".to_owned())
        }
    }
}

fn bare_part(word: &str) -> Result<Part, String> {
    match word {
        "key" => Ok(Part::Key),
        "fence" => Ok(Part::Fence),
        other => Err(format!("the part `{other}` is not known to this version")),
    }
}

fn named_part(name: &str, value: &Json) -> Result<Part, String> {
    match name {
        "text" => text(value).map(Part::Text),
        "secret" => text(value).map(Part::Secret),
        other => Err(format!("the part `{other}` is not known to this version")),
    }
}

fn text(stored: &Json) -> Result<String, String> {
    let Json::Str(text) = stored else { return Err("a text was expected".to_owned()) };
    Ok(text.clone())
}

fn list(stored: &Json) -> Result<&[Json], String> {
    let Json::Arr(items) = stored else { return Err("a list was expected".to_owned()) };
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::{Part, Template, read};
    use semel_kernel::json::Json;

    #[test]
    fn every_kind_of_part_is_read() {
        let stored = r#"{"method":"POST","url":[{"text":"http://h/"},"key"],
            "headers":[["x-fence",["fence"]],["authorization",[{"secret":"env:K"}]]],"body":[]}"#;
        let request = read(&Json::parse(stored).unwrap()).unwrap();
        assert_eq!(request.url.shown(), "http://h/{key}");
        assert_eq!(request.headers[0], ("x-fence".to_owned(), Template(vec![Part::Fence])));
        assert_eq!(request.headers[1].1.shown(), "{secret env:K}");
        assert_eq!((request.body, request.ca_file), (Some(Template(vec![])), None));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let cases = [
            r#"[]"#,
            r#"{"method":"GET","url":[]}"#,
            r#"{"method":"GET","url":[],"headers":[],"proxy":"p"}"#,
            r#"{"method":"GET","url":["nonce"],"headers":[]}"#,
            r#"{"method":"GET","url":[{"text":"a","secret":"b"}],"headers":[]}"#,
            r#"{"method":"GET","url":[{"argument":"a"}],"headers":[]}"#,
            r#"{"method":"GET","url":[],"headers":[["a"]]}"#,
        ];
        for case in cases {
            assert!(read(&Json::parse(case).unwrap()).is_err(), "{case}");
        }
    }
}
