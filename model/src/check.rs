//! A breadth-first checker: every reachable state, shortest counter-examples, and what every state can still reach.
//!
//! It is our own because two questions are asked that `stateright` does not answer: *can every reachable state still
//! reach an end* (a question about paths, in a graph with joins and circles), and *what is the shortest
//! counter-example*, the same one at every run, because it is a committed page.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, RandomState},
};

/// A transition system.
pub trait Model {
    /// A state; small, and equal exactly when nothing tells two of them apart.
    type State: Copy + Eq + Hash;
    /// Where it begins.
    fn initial(&mut self) -> Self::State;
    /// Adds every state that one action leads to.
    fn next(&mut self, state: &Self::State, into: &mut Vec<Self::State>);
    /// The property that this state breaks, if it breaks one.
    fn broken(&self, state: &Self::State) -> Option<&'static str>;
    /// Nothing is owed here: every state must be able to reach such a one.
    fn is_done(&self, state: &Self::State) -> bool;
}

/// What an exploration found.
pub struct Found<S> {
    /// Every state that was visited.
    pub states: Vec<S>,
    /// Transitions.
    pub edges: usize,
    /// Actions on the longest of all shortest paths.
    pub depth: usize,
    /// The first property that is broken, with a shortest path to it.
    pub broken: Option<(&'static str, Vec<S>)>,
}

/// States in the order in which they were found, each with the one it was found from.
struct Space<S> {
    states: Vec<S>,
    parents: Vec<u32>,
    index: HashMap<u64, u32>,
    hasher: RandomState,
    edges: Vec<(u32, u32)>,
}

impl<S: Copy + Eq + Hash> Space<S> {
    fn new() -> Self {
        let (states, parents, edges) = (Vec::new(), Vec::new(), Vec::new());
        Self { states, parents, index: HashMap::new(), hasher: RandomState::new(), edges }
    }

    /// The number of a state. Two states with one fingerprint are told apart: the second takes the next free one.
    fn number(&mut self, state: &S, parent: u32) -> u32 {
        let mut print = self.hasher.hash_one(state);
        loop {
            let Some(&at) = self.index.get(&print) else { return self.add(print, state, parent) };
            if self.states.get(at as usize) == Some(state) {
                return at;
            }
            print = print.wrapping_add(1);
        }
    }

    fn add(&mut self, print: u64, state: &S, parent: u32) -> u32 {
        let at = u32::try_from(self.states.len()).unwrap_or(u32::MAX);
        self.index.insert(print, at);
        self.states.push(*state);
        self.parents.push(parent);
        at
    }

    /// From the beginning to this state.
    fn path(&self, to: u32) -> Vec<S> {
        let mut path = Vec::new();
        let mut at = to;
        loop {
            path.extend(self.states.get(at as usize));
            let parent = self.parents.get(at as usize).copied().unwrap_or(at);
            if parent == at {
                path.reverse();
                return path;
            }
            at = parent;
        }
    }
}

/// The name under which a state without a way to an end is reported.
pub const STUCK: &str = "nothing is stuck for ever";

/// Explores everything, or up to the first broken property.
pub fn explore<M: Model>(model: &mut M) -> Found<M::State> {
    let mut space = Space::new();
    let first = model.initial();
    space.number(&first, 0);
    let mut depths = vec![0_usize];
    let mut next = Vec::new();
    let mut at = 0;
    while let Some(state) = space.states.get(at).copied() {
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        if let Some(property) = model.broken(&state) {
            let path = space.path(number);
            return found(space, &depths, Some((property, path)));
        }
        next.clear();
        model.next(&state, &mut next);
        for after in &next {
            let to = space.number(after, number);
            space.edges.push((number, to));
            if to as usize == depths.len() {
                depths.push(depths.get(at).map_or(0, |d| d + 1));
            }
        }
        at += 1;
    }
    let stuck = first_stuck(model, &space).map(|at| (STUCK, space.path(at)));
    found(space, &depths, stuck)
}

fn found<S>(space: Space<S>, depths: &[usize], broken: Option<(&'static str, Vec<S>)>) -> Found<S> {
    let depth = depths.last().copied().unwrap_or(0);
    Found { edges: space.edges.len(), states: space.states, depth, broken }
}

/// The first state from which no end can be reached: walk backwards from all ends and see what is left.
fn first_stuck<M: Model>(model: &M, space: &Space<M::State>) -> Option<u32> {
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); space.states.len()];
    for (from, to) in &space.edges {
        if let Some(list) = before.get_mut(*to as usize) {
            list.push(*from);
        }
    }
    let mut well: Vec<bool> = space.states.iter().map(|s| model.is_done(s)).collect();
    let mut open: Vec<usize> = (0..well.len()).filter(|n| well.get(*n) == Some(&true)).collect();
    while let Some(at) = open.pop() {
        for from in before.get(at).into_iter().flatten() {
            if let Some(flag) = well.get_mut(*from as usize).filter(|f| !**f) {
                *flag = true;
                open.push(*from as usize);
            }
        }
    }
    well.iter().position(|w| !w).and_then(|at| u32::try_from(at).ok())
}
