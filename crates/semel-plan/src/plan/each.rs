//! The `each` of a step: its list, what names an item, and its limits.

use super::{
    slot::{Slots, cut},
    step::{ROOTS, Written, is_identifier, scalar},
};
use crate::{
    cel::Program,
    problem::Span,
    template::{Template, Tree},
    yaml::{Fields, Node},
};
use semel_kernel::limit;

/// The list of an `each`.
#[derive(Clone, Debug)]
pub(crate) struct EachDoc {
    /// The list.
    pub(crate) list: Written<Tree>,
    /// What an item is called in expressions.
    pub(crate) bind: String,
    /// What names an item.
    pub(crate) key: Written<Template>,
    /// Items at most.
    pub(crate) max: u32,
    /// Items in flight at once.
    pub(crate) parallel: u32,
}

/// The `each` if it is sound, and the name of its item whether it is or not.
pub(super) fn read(
    node: Option<&Node>,
    step: &str,
    slots: &mut Slots<'_, '_>,
) -> (Option<EachDoc>, Option<String>) {
    let Some(node) = node else { return (None, None) };
    let path = format!("{step}.each");
    let Some(mut fields) = Fields::of(node, slots.file, path.clone(), slots.problems) else {
        return (None, Some("item".to_owned()));
    };
    let list = fields.required("in", slots.problems);
    let bind = fields.opt_text("as", slots.problems).unwrap_or("item").to_owned();
    let bind_span = fields.node("as").map_or(node.span, |n| n.span);
    let key = fields.node("key");
    let max = fields.count("max", 1, slots.problems).unwrap_or(limit::EACH_ITEMS as u32);
    let max_span = fields.node("max").map_or(node.span, |n| n.span);
    let parallel = fields.count("parallel", 1, slots.problems).unwrap_or(1);
    fields.finish(slots.problems);
    check_bind(&bind, bind_span, &path, slots);
    check_max(max, max_span, &path, slots);
    let list = list.and_then(|n| each_list(n, &format!("{path}.in"), slots));
    slots.item = true;
    let key = each_key(key, node.span, &bind, &path, slots);
    let each = list.zip(key).map(|(list, key)| EachDoc { list, bind: bind.clone(), key, max, parallel });
    (each, Some(bind))
}

fn check_bind(bind: &str, span: Span, path: &str, slots: &mut Slots<'_, '_>) {
    let path = format!("{path}.as");
    if !is_identifier(bind) {
        let message = format!("`{}` cannot be the name of an item", cut(bind));
        slots.error("SM4103", span, &path, message, "write a word of a-z, 0-9 and _, not one that CEL keeps");
    } else if ROOTS.contains(&bind) {
        let message = format!("`{bind}` is a name that every expression has already");
        slots.error("SM4103", span, &path, message, "call the item otherwise, such as `p` or `item`");
    }
}

fn check_max(max: u32, span: Span, path: &str, slots: &mut Slots<'_, '_>) {
    if max as usize > limit::EACH_ITEMS {
        let message = format!("`max` is {max}, but an `each` has at most {} items", limit::EACH_ITEMS);
        slots.error("SM4115", span, &format!("{path}.max"), message, "split the work over several plans");
    }
}

fn each_list(node: &Node, path: &str, slots: &mut Slots<'_, '_>) -> Option<Written<Tree>> {
    let (value, json) = slots.tree(node, path)?;
    let whole = matches!(&value, Tree::Text(template) if template.whole().is_some());
    if json.as_arr().is_none() && !whole {
        let message = format!("`in` is a list, but this is {}", node.value.kind_name());
        slots.error("SM4009", node.span, path, message, "write a list, or one whole `${{ }}` that gives one");
        return None;
    }
    Some(Written { value, json })
}

/// Without a key an item would be named by its place, and a changed list would bind results to the wrong item.
fn each_key(
    node: Option<&Node>,
    each: Span,
    bind: &str,
    path: &str,
    slots: &mut Slots<'_, '_>,
) -> Option<Written<Template>> {
    let path = format!("{path}.key");
    let hint = format!("add `key: \"${{{{ {bind}.id }}}}\"`, a text that names the item for ever");
    let Some(node) = node else {
        slots.error("SM4115", each, &path, "an `each` needs a `key` that names its items", &hint);
        return None;
    };
    let key = scalar(node, &path, slots)?;
    let reads = |p: &Program| p.names().iter().any(|n| n.split('.').next() == Some(bind));
    if !key.value.programs().any(|(p, _)| reads(p)) {
        slots.error("SM4115", node.span, &path, "this `key` is the same for every item", &hint);
        return None;
    }
    Some(key)
}
