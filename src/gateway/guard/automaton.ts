/**
 * Search for many needles in one pass over a stream of bytes (Aho and Corasick 1975), in typed arrays of 21 bytes for
 * each node. A node is a prefix of a needle, node 0 the empty one; nodes keep their numbers when needles are added.
 */
export interface Automaton<Item> {
  size: number
  /** First child, next sibling, and the byte that leads to a node. */
  child: Int32Array
  sibling: Int32Array
  byte: Uint8Array
  /** The longest proper suffix of a node that is a node. */
  fail: Int32Array
  depth: Int32Array
  /** The longest suffix of a node, itself included, that is a needle; 0: none. */
  match: Int32Array
  /** Children of node 0 by their byte. */
  readonly root: Int32Array
  readonly items: Map<number, Item>
}

export const createAutomaton = <Item>(capacity: number): Automaton<Item> => ({
  size: 1,
  child: new Int32Array(capacity),
  sibling: new Int32Array(capacity),
  byte: new Uint8Array(capacity),
  fail: new Int32Array(capacity),
  depth: new Int32Array(capacity),
  match: new Int32Array(capacity),
  root: new Int32Array(256),
  items: new Map(),
})

const grown = (array: Int32Array, capacity: number): Int32Array => {
  const larger = new Int32Array(capacity)
  larger.set(array)
  return larger
}

const reserve = (automaton: Automaton<unknown>, count: number): void => {
  const needed = automaton.size + count
  if (needed <= automaton.byte.length) return
  const capacity = Math.max(needed, 2 * automaton.byte.length)
  for (const name of ['child', 'sibling', 'fail', 'depth', 'match'] as const)
    automaton[name] = grown(automaton[name], capacity)
  const bytes = new Uint8Array(capacity)
  bytes.set(automaton.byte)
  automaton.byte = bytes
}

/** Adds a needle of at least one byte; of equal ones the first stays. Call `link` before the next search. */
export const addNeedle = <Item>(automaton: Automaton<Item>, needle: Uint8Array, item: Item): void => {
  reserve(automaton, needle.length)
  const { child, sibling, byte, depth, root, items } = automaton
  let node = 0
  for (const value of needle) {
    let next = node === 0 ? (root[value] as number) : (child[node] as number)
    while (next !== 0 && byte[next] !== value) next = sibling[next] as number
    if (next === 0) {
      next = automaton.size++
      byte[next] = value
      depth[next] = (depth[node] as number) + 1
      if (node === 0) root[value] = next
      sibling[next] = child[node] as number
      child[node] = next
    }
    node = next
  }
  if (!items.has(node)) items.set(node, item)
}

/** Completes the automaton after needles were added. */
export const link = ({ size, child, sibling, byte, fail, match, root, items }: Automaton<unknown>): void => {
  const queue = new Int32Array(size)
  let length = 1
  for (let at = 0; at < length; at++) {
    const node = queue[at] as number
    for (let next = child[node] as number; next !== 0; next = sibling[next] as number) {
      const value = byte[next] as number
      let suffix = node
      let target = 0
      while (suffix !== 0 && target === 0) {
        suffix = fail[suffix] as number
        target = suffix === 0 ? (root[value] as number) : (child[suffix] as number)
        while (target !== 0 && byte[target] !== value) target = sibling[target] as number
      }
      fail[next] = target
      match[next] = items.has(next) ? next : (match[target] as number)
      queue[length++] = next
    }
  }
}

/**
 * Searches from a state on, and returns the next one: the longest suffix of what was read that begins a needle.
 * `found` is called where needles end, with the longest of them; `match[fail[node]]` is the next shorter one.
 */
export const search = (
  { child, sibling, byte, fail, match, root }: Automaton<unknown>,
  state: number,
  bytes: Uint8Array,
  found: (node: number, end: number) => void,
): number => {
  const { length } = bytes
  let node = state
  for (let at = 0; at < length; at++) {
    if (node === 0) {
      while (at < length && root[bytes[at] as number] === 0) at++
      if (at === length) return 0
    }
    const value = bytes[at] as number
    let next = 0
    while (node !== 0) {
      next = child[node] as number
      while (next !== 0 && byte[next] !== value) next = sibling[next] as number
      if (next !== 0) break
      node = fail[node] as number
    }
    node = next === 0 ? (root[value] as number) : next
    if (match[node] !== 0) found(match[node] as number, at + 1)
    // Nothing continues a node without children.
    while (node !== 0 && child[node] === 0) node = fail[node] as number
  }
  return node
}
