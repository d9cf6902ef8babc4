//! Places in a plan where expressions may stand: they are compiled where they are read, and the names they use are
//! kept with their places until all steps are known.

use crate::{
    cel::{CelError, Program},
    problem::{At, Problems, Span},
    template::{Template, Tree},
    yaml::{Node, Value, join},
};
use semel_kernel::json::Json;

/// A name that an expression reads.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// `steps.charge.output.paid`.
    pub(crate) name: String,
    /// Where it stands.
    pub(crate) span: Span,
    /// Where in the document.
    pub(crate) path: String,
    /// The item of an `each` is visible here.
    pub(crate) item: bool,
}

/// Compiles the expressions of one step.
pub(crate) struct Slots<'a, 'p> {
    /// The file.
    pub(crate) file: &'a str,
    /// What is wrong.
    pub(crate) problems: &'p mut Problems,
    /// The names that were read so far.
    pub(crate) uses: Vec<Use>,
    /// The item of an `each` is visible in what follows.
    pub(crate) item: bool,
}

impl Slots<'_, '_> {
    /// A value whose texts may hold `${{ }}`.
    pub(crate) fn tree(&mut self, node: &Node, path: &str) -> Option<(Tree, Json)> {
        let compiled = self.texts(node, path);
        let json = node.to_json(path, self.problems)?;
        let tree = if compiled { Tree::parse(&json).ok() } else { None };
        tree.map(|tree| (tree, json))
    }

    /// A scalar that may hold `${{ }}`, as a text.
    pub(crate) fn template(&mut self, node: &Node, path: &str) -> Option<(Template, String)> {
        let Some(text) = node.as_scalar() else {
            let message = format!("this must be a text, but it is {}", node.value.kind_name());
            self.error("SM4009", node.span, path, message, "write a text, or one `${{ }}` in quotes");
            return None;
        };
        self.text(text, node.span, path).map(|template| (template, text.to_owned()))
    }

    /// An expression, bare or as one whole `${{ }}`.
    pub(crate) fn condition(&mut self, node: &Node, path: &str) -> Option<Program> {
        let (template, text) = match node.as_text() {
            Some(text) if text.contains("${{") => self.template(node, path)?,
            Some(_) | None => return self.bare(node, path),
        };
        let whole = template.whole().cloned();
        if whole.is_none() {
            let message = format!("`{}` is a text, not one expression", cut(&text));
            self.error("SM4110", node.span, path, message, "write one `${{ }}` around the whole condition");
        }
        whole
    }

    fn bare(&mut self, node: &Node, path: &str) -> Option<Program> {
        let Some(source) = node.as_scalar() else {
            let message = format!("this must be an expression, but it is {}", node.value.kind_name());
            self.error("SM4009", node.span, path, message, "write `${{ }}` with a condition");
            return None;
        };
        match Program::compile(source.trim()) {
            Ok(program) => {
                self.names(&program, source, 0, node.span, path);
                Some(program)
            }
            Err(refused) => {
                self.refuse(&refused, source, node.span, path);
                None
            }
        }
    }

    /// Whether every text below the node compiles; all are looked at, so that every problem is told.
    fn texts(&mut self, node: &Node, path: &str) -> bool {
        match &node.value {
            Value::Text(text) => self.text(text, node.span, path).is_some(),
            Value::List(items) => {
                let each = items.iter().enumerate().map(|(i, n)| self.texts(n, &format!("{path}[{i}]")));
                each.filter(|sound| !sound).count() == 0
            }
            Value::Map(members) => {
                let each = members.iter().map(|(k, n)| self.texts(n, &join(path, &k.text)));
                each.filter(|sound| !sound).count() == 0
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }

    fn text(&mut self, text: &str, span: Span, path: &str) -> Option<Template> {
        match Template::parse(text) {
            Ok(template) => {
                for (program, offset) in template.programs() {
                    self.names(program, text, offset, span, path);
                }
                Some(template)
            }
            Err(refused) => {
                self.refuse(&refused, text, span, path);
                None
            }
        }
    }

    fn names(&mut self, program: &Program, text: &str, offset: usize, span: Span, path: &str) {
        for name in program.names() {
            let within = program.source().find(name.as_str()).unwrap_or(0);
            let (span, path) = (span.inside(text, offset + within), path.to_owned());
            self.uses.push(Use { name: name.clone(), span, path, item: self.item });
        }
    }

    fn refuse(&mut self, refused: &CelError, text: &str, span: Span, path: &str) {
        let message = format!("this expression cannot be read: {}", refused.message);
        let span = span.inside(text, refused.offset);
        self.error("SM4110", span, path, message, "write a CEL expression, such as `inputs.amount > 10`");
    }

    /// Records a problem of this file.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        path: &str,
        message: impl Into<String>,
        hint: &str,
    ) {
        self.problems.error(code, At { file: self.file, span, path }, message, hint);
    }
}

/// The beginning of a text, for messages.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}
