//! The secrets that one call used, and how they are taken out of what came back.
//!
//! Invariant: a value that passed an [`Eraser`] holds none of its secrets, however they were escaped on the way. No
//! secret shows in a `Debug` text here, and none can be serialised. This module must not know what an answer means.

use super::spelling::{base64, hex, pair, said};
use crate::outside::Secret;
use semel_kernel::json::Json;
use std::{borrow::Cow, cmp::Reverse, collections::BTreeMap, fmt};

/// Stands where a secret was.
pub const MARK: &str = "***";

/// Characters below which a secret cannot be told from ordinary words.
const LEAST: usize = 4;
/// Characters of one word of a secret of several words from which the word is a secret by itself.
const LEAST_WORD: usize = 8;
/// Characters from which the middle of an encoded text is a secret by itself.
const LEAST_MIDDLE: usize = 8;

/// The secrets that were resolved for one call.
#[derive(Clone, Default)]
pub struct Witnessed(Vec<Secret>);

impl Witnessed {
    /// These secrets.
    #[must_use]
    pub const fn new(secrets: Vec<Secret>) -> Self {
        Self(secrets)
    }

    /// Whether the call used none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes them out of whatever a target said. A secret of fewer than four characters is left: it would hide half
    /// of every answer.
    #[must_use]
    pub fn eraser(&self) -> Eraser {
        Eraser::of(&self.0, LEAST)
    }

    /// Takes them out of our own words, where also the shortest one is hidden.
    #[must_use]
    pub fn strict_eraser(&self) -> Eraser {
        Eraser::of(&self.0, 1)
    }
}

impl PartialEq for Witnessed {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().map(Secret::expose).eq(other.0.iter().map(Secret::expose))
    }
}

impl Eq for Witnessed {}

impl fmt::Debug for Witnessed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Witnessed({})", self.0.len())
    }
}

/// Puts [`MARK`] where a secret stands: plainly and without regard to case, percent-encoded, escaped as in JSON or
/// HTML, in base64 (also as a part of a longer text), or in hexadecimal digits.
#[derive(Clone)]
pub struct Eraser {
    /// The longest first: a secret that contains another one is taken out whole.
    needles: Vec<Vec<char>>,
    /// The bytes with which one of them can begin.
    starts: [bool; 256],
}

impl Eraser {
    fn of(secrets: &[Secret], least: usize) -> Self {
        let mut needles: Vec<Vec<char>> = secrets.iter().flat_map(|secret| forms(secret.expose())).collect();
        needles.retain(|needle| needle.len() >= least.max(1));
        needles.sort_by(|a, b| Reverse(a.len()).cmp(&Reverse(b.len())).then_with(|| a.cmp(b)));
        needles.dedup();
        Self { starts: starts(&needles), needles }
    }

    /// The text without the secrets.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = String::new();
        let mut kept = 0;
        for (at, byte) in text.bytes().enumerate() {
            if at < kept || !self.starts[usize::from(byte)] {
                continue;
            }
            // A needle begins with no byte from the middle of a character.
            if let Some(length) = text.get(at..).and_then(|rest| self.length_at(rest)) {
                out.push_str(text.get(kept..at).unwrap_or_default());
                out.push_str(MARK);
                kept = at + length;
            }
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// A text whose end is missing, without the secrets and without the beginning of one at its end.
    #[must_use]
    pub fn cut_text(&self, text: &str) -> String {
        let marked = format!("{text}…");
        let clean = self.text(&marked);
        clean.strip_suffix('…').unwrap_or(&clean).to_owned()
    }

    /// The value without the secrets, in its texts and in its names; a number that is one becomes the mark.
    #[must_use]
    pub fn json(&self, json: &Json) -> Json {
        match json {
            Json::Null | Json::Bool(_) => json.clone(),
            Json::Num(_) if self.text(&json.canonical()) == MARK => Json::str(MARK),
            Json::Num(_) => json.clone(),
            Json::Str(text) => Json::Str(self.text(text).into_owned()),
            Json::Arr(items) => Json::Arr(items.iter().map(|item| self.json(item)).collect()),
            Json::Obj(members) => {
                let clean =
                    |(name, value): (&String, &Json)| (self.text(name).into_owned(), self.json(value));
                Json::Obj(members.iter().map(clean).collect::<BTreeMap<_, _>>())
            }
        }
    }

    /// The bytes that one of the secrets takes at the beginning of a text.
    fn length_at(&self, text: &str) -> Option<usize> {
        self.needles.iter().find_map(|needle| said(needle, text, LEAST))
    }
}

impl fmt::Debug for Eraser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Eraser(..)")
    }
}

fn starts(needles: &[Vec<char>]) -> [bool; 256] {
    let mut starts = [false; 256];
    for first in needles.iter().filter_map(|needle| needle.first()) {
        for first in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
            let mut utf8 = [0; 4];
            first.encode_utf8(&mut utf8);
            // An escaped character begins with one of the others.
            for byte in [utf8[0], b'%', b'\\', b'&', b'+'] {
                starts[usize::from(byte)] = true;
            }
        }
    }
    starts
}

/// All that tells a secret to whoever reads it.
fn forms(secret: &str) -> Vec<Vec<char>> {
    // White space at the ends is lost in a header.
    let whole = secret.trim();
    let mut plain = vec![secret.to_owned(), whole.to_owned()];
    // A scheme before the secret itself, or the lines of a key file.
    let words = whole.split_whitespace().filter(|word| word.chars().count() >= LEAST_WORD);
    plain.extend(words.map(str::to_owned));
    // The secret of `basic` is an encoded pair; a target may answer with what it decoded.
    if let Some((both, password)) = pair(whole) {
        plain.extend([both, password]);
    }
    plain.iter().flat_map(|text| encoded(text)).collect()
}

fn encoded(text: &str) -> Vec<Vec<char>> {
    let bytes = text.as_bytes();
    let mut forms = vec![text.chars().collect(), hex(bytes), base64(bytes)];
    forms.extend((0..3).map(|shift| middle(bytes, shift)).filter(|middle| middle.len() >= LEAST_MIDDLE));
    let url_safe = |form: &Vec<char>| {
        form.iter()
            .map(|c| {
                if *c == '+' {
                    '-'
                } else if *c == '/' {
                    '_'
                } else {
                    *c
                }
            })
            .collect()
    };
    let safe: Vec<Vec<char>> = forms.iter().skip(2).map(url_safe).collect();
    forms.extend(safe);
    forms
}

/// What is the same of the secret in the base64 form of every text that holds it after 3n + `shift` bytes.
fn middle(bytes: &[u8], shift: usize) -> Vec<char> {
    let shifted: Vec<u8> = std::iter::repeat_n(0, shift).chain(bytes.iter().copied()).collect();
    let mut signs = base64(&shifted);
    if !shifted.len().is_multiple_of(3) {
        // Its last bits are those of what follows.
        signs.pop();
    }
    signs.drain(..signs.len().min(if shift == 0 { 0 } else { shift + 1 }));
    signs
}

#[cfg(test)]
mod tests {
    use super::{MARK, Witnessed};
    use crate::outside::Secret;
    use proptest::{collection::vec, prelude::*};
    use semel_kernel::json::Json;

    const KEY: &str = "t0k3n/of+an=acc\"ount";

    fn witnessed(secret: &str) -> Witnessed {
        Witnessed::new(vec![Secret::new(secret.to_owned())])
    }

    fn cleaned(secret: &str, text: &str) -> String {
        witnessed(secret).eraser().text(text).into_owned()
    }

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        let written = [
            KEY,
            "T0K3N/OF+AN=ACC\"OUNT",
            "t0k3n%2Fof%2Ban%3Dacc%22ount",
            "t0k3n%2fof%2ban=acc%22ount",
            "t0k3n%252Fof%252Ban%253Dacc%2522ount",
            "t0k3n/of+an=acc\\\"ount",
            "t0k3n\\/of\\u002Ban\\u003dacc\\u0022ount",
            "t0k3n\\\\\\/of+an=acc\\\\\\\"ount",
            "t0k3n/of&#43;an&#x3D;acc&quot;ount",
            "dDBrM24vb2YrYW49YWNjIm91bnQ",
            "74306b336e2f6f662b616e3d616363226f756e74",
        ];
        for text in written {
            assert_eq!(cleaned(KEY, text), MARK, "{text}");
            assert_eq!(cleaned(KEY, &format!("é {text}, {text}.")), "é ***, ***.", "{text}");
        }
        assert_eq!(cleaned("a b\nc d", "a+b%0Ac%20d a b\\nc d"), "*** ***");
        // Another character that begins with the same byte.
        assert_eq!(cleaned("ässwörd", "é ässwörd é"), "é *** é");
        assert_eq!(cleaned("pässwörd", "p%C3%A4ssw\\u00f6rd"), MARK);
        assert_eq!(cleaned("100%25sure", "100%25sure"), MARK);
    }

    #[test]
    fn what_the_target_decoded_or_split_is_found() {
        // The secret of `basic` is the encoded pair `joe:hunter22`.
        assert_eq!(cleaned("am9lOmh1bnRlcjIy", "no `hunter22` for joe:hunter22"), "no `***` for ***");
        assert_eq!(cleaned("Bearer abcdefgh12", "unknown token abcdefgh12"), "unknown token ***");
        assert_eq!(cleaned("  padded-key\n", "padded-key"), MARK);
    }

    #[test]
    fn short_secrets_hide_only_in_our_own_words() {
        assert_eq!(cleaned("ok", "ok"), "ok");
        assert_eq!(witnessed("ok").strict_eraser().text("ok"), MARK);
        assert_eq!(cleaned("abcd", "abcd"), MARK);
        assert_eq!(Witnessed::default().eraser().text("anything"), "anything");
    }

    #[test]
    fn the_beginning_of_a_secret_at_a_cut_is_hidden() {
        let eraser = witnessed("hunter2-key").eraser();
        assert_eq!(eraser.text("see hunter…, not hunter"), "see ***…, not hunter");
        assert_eq!(eraser.cut_text("see hunt"), "see ***");
        assert_eq!(eraser.cut_text("see hun"), "see hun");
    }

    #[test]
    fn values_are_walked() {
        let json = Json::parse(r#"{"a":["x hunter22"],"hunter22":{"n":20261234,"m":1}}"#).unwrap();
        let secrets = ["hunter22", "20261234"].map(|s| Secret::new(s.to_owned()));
        let eraser = Witnessed::new(secrets.to_vec()).eraser();
        assert_eq!(eraser.json(&json).canonical(), r#"{"***":{"m":1,"n":"***"},"a":["x ***"]}"#);
        assert_eq!(format!("{eraser:?} {:?}", witnessed(KEY)), "Eraser(..) Witnessed(1)");
    }

    proptest! {
        /// Nothing panics, nothing is left, and what holds no secret stays as it is.
        #[test]
        fn any_text_is_cleaned(secret in "\\PC{8,20}", texts in vec("[%\\\\&+u0-9a-fé;#… ]{0,12}", 2)) {
            let text = texts.join(&secret);
            prop_assert!(!cleaned(&secret, &text).contains(&secret) || MARK.contains(&secret));
            let words = "the quick brown fox";
            prop_assert!(words.contains(secret.trim()) || cleaned(&secret, words) == words);
        }
    }
}
