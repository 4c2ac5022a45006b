import { type End, type Hostile, program } from './program.ts'

const ENDS: readonly End[] = ['memory', 'crash', 'cpu', 'threw']
const grow = (name: string, body: string): Hostile => ({
  name,
  code: program(body),
  ends: ENDS,
})

/** Memory that isolated-vm counts, and memory that it does not count. */
export const MEMORY: readonly Hostile[] = [
  grow('an array of arrays', 'const a = []; for (;;) a.push(new Array(1000).fill(1.5))'),
  grow('an array of objects', 'const a = []; for (;;) a.push({ a: 1, b: {} })'),
  grow('a text that doubles', "let s = 'x'; for (;;) { s += s; s.charCodeAt(1) }"),
  grow('flattened texts', "const a = []; for (let i = 0; ; i++) a.push(('x' + i).repeat(100000) + i)"),
  grow('a Map', 'const m = new Map(); for (let i = 0; ; i++) m.set(i, i)'),
  grow('a Set', 'const m = new Set(); for (let i = 0; ; i++) m.add(i)'),
  grow(
    'a WeakMap',
    'const m = new WeakMap(), keep = []; for (;;) { const k = {}; keep.push(k); m.set(k, k) }',
  ),
  grow('an object of many keys', "const o = {}; for (let i = 0; ; i++) o['k' + i] = i"),
  grow('registered symbols', "for (let i = 0; ; i++) Symbol.for('s' + i)"),
  grow('symbols', 'const a = []; for (let i = 0; ; i++) a.push(Symbol(i))'),
  grow('a filled array', 'return Array(1e9).fill(0).length'),
  grow('an array of a large length', 'const a = []; for (;;) a.push(Array(2 ** 25).fill(1))'),
  grow('typed arrays', 'const a = []; for (;;) a.push(new Uint8Array(2 ** 24).fill(1))'),
  grow('array buffers', 'const a = []; for (;;) a.push(new ArrayBuffer(2 ** 26))'),
  grow('buffers', 'const a = []; for (;;) a.push(Buffer.alloc(2 ** 22, 1))'),
  grow('closures', 'let f = () => 1; for (;;) { const g = f; f = () => g }'),
  grow('promises', 'const a = []; for (;;) a.push(new Promise(() => {}))'),
  grow('pending microtasks', 'for (;;) Promise.resolve().then(() => {})'),
  grow(
    'generators',
    'const a = []; for (;;) { const g = (function* () { yield 1 })(); g.next(); a.push(g) }',
  ),
  grow('classes', 'const a = []; for (;;) a.push(class { m() {} })'),
  grow('functions from text', "const a = []; for (let i = 0; ; i++) a.push(Function('return ' + i))"),
  grow(
    'regular expressions',
    "const a = []; for (let i = 0; ; i++) { const r = new RegExp('a' + i); r.test('a'); a.push(r) }",
  ),
  grow(
    'Intl objects',
    "const a = []; for (;;) a.push(new Intl.DateTimeFormat('de', { timeZone: 'Europe/Berlin' }))",
  ),
  grow('a collator for each', "const a = []; for (;;) a.push(new Intl.Collator('sv'))"),
  grow('BigInts', 'const a = []; for (let i = 0n; ; i++) a.push(1n << (1000000n + i))'),
  grow('matches', "const a = []; for (;;) a.push('abc'.repeat(1e6).match(/./g))"),
  grow('a split text', "const a = []; for (;;) a.push('a,'.repeat(1e6).split(','))"),
  grow(
    'structured clones',
    'let o = { a: [1, 2, 3] }; for (;;) o = { a: structuredClone(o), b: structuredClone(o) }',
  ),
  grow('proxies of proxies', 'let p = {}; for (;;) p = new Proxy(p, {})'),
  grow('weak references', 'const a = []; for (;;) { const o = {}; a.push(o, new WeakRef(o)) }'),
  grow(
    'finalizers',
    'const r = new FinalizationRegistry(() => {}), a = []; for (;;) { const o = {}; a.push(o); r.register(o, o) }',
  ),
  grow('errors with stacks', 'const a = []; for (;;) a.push(new Error("x").stack)'),
  { ...grow('while it is loaded', ''), code: 'const a = []; for (;;) a.push(new Array(1000).fill(1.5))' },
]
