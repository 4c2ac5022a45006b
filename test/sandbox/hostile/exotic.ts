import { type End, type Hostile, program } from './program.ts'

const row =
  (...ends: readonly End[]) =>
  (name: string, body: string): Hostile => ({ name, code: program(body), ends })

const spins = row('cpu')
/** V8 cannot be interrupted there: the process ends, V8 throws, or the code returns in time. */
const stuck = row('cpu', 'memory', 'crash', 'threw', 'returned')
const throws = row('threw')
/** Any end that the program itself causes. */
const some = row('returned', 'threw', 'cpu', 'memory', 'crash', 'result', 'host_calls', 'wall')

/** Features of the language and of V8 that are expensive or endless. */
export const ENGINE: readonly Hostile[] = [
  spins('a lookahead that backtracks', "return /^(?=(a+)+$)/.test('a'.repeat(80) + 'b')"),
  stuck(
    'matchAll that never ends',
    "RegExp.prototype.exec = () => ({ 0: '', index: 0 }); return [...'a'.matchAll(/a/g)].length",
  ),
  spins('a back reference that backtracks', "return /^(?:(a+)\\1*)*$/.test('a'.repeat(120) + 'b')"),
  spins('a named group over Unicode', "return /^(?<x>(\\p{L}|\\w)+)+$/u.test('ä'.repeat(60) + '!')"),
  spins('a global replacement that backtracks', "return 'x'.repeat(60).replace(/(x+)+y/g, '')"),
  spins('a split that backtracks', "return ('x'.repeat(60) + 'z').split(/(x+)+y/)"),
  spins(
    'a regular expression whose exec is its own',
    "const r = /a/g; r.exec = () => ({ index: 0, length: 1, 0: '' }); return 'a'.replace(r, '')",
  ),
  stuck('an expression of many alternatives', "return new RegExp(Array(2e6).fill('a').join('|')).test('b')"),
  stuck('an expression that nests deeply', "return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('a')"),
  stuck('a product of BigInts', 'let a = 3n; for (;;) a = a * a'),
  stuck('a BigInt from text', "return BigInt('9'.repeat(2e7)) % 7n"),
  stuck('a quotient of BigInts', 'return ((1n << 30000000n) - 1n) / ((1n << 15000000n) + 1n) % 3n'),
  stuck('BigInt.asUintN', 'for (let i = 2 ** 20; ; i += 2 ** 20) BigInt.asUintN(i, -1n)'),
  stuck('a sort of a typed array', 'for (;;) Float64Array.from({ length: 2e6 }, Math.random).sort()'),
  spins('a sort of a typed array by a loop', 'return new Uint8Array(4).sort(() => { for (;;); })'),
  stuck(
    'copyWithin over a huge length',
    'return Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 1, 0)',
  ),
  stuck('splice of a huge length', 'return Array.prototype.splice.call({ length: 2 ** 53 - 1 }, 0, 2 ** 52)'),
  stuck('unshift of a huge length', 'return Array.prototype.unshift.call({ length: 2 ** 53 - 2 }, 1)'),
  stuck('flat of a circle', 'const a = []; a.push(a, a); return a.flat(Infinity).length'),
  stuck('apply with a long list', 'return Math.max.apply(null, { length: 2 ** 32 - 1 })'),
  stuck('Reflect.construct with a long list', 'return Reflect.construct(Array, { length: 2 ** 31 })'),
  stuck('Array.from of a length', 'return Array.from({ length: 2 ** 32 - 1 }).length'),
  stuck(
    'padStart in a loop',
    "const a = []; for (let i = 1; ; i++) a.push('x'.padStart(2 ** 28 + i).charCodeAt(9))",
  ),
  stuck(
    'replaceAll that multiplies',
    "return 'a'.repeat(2 ** 20).replaceAll('a', 'b'.repeat(2 ** 12)).length",
  ),
  stuck('a template that doubles', 'let s = "x"; for (;;) s = `${s}${s}`.toLowerCase()'),
  stuck('encodeURIComponent of a long text', "const s = '€'.repeat(2 ** 24); for (;;) encodeURIComponent(s)"),
  stuck(
    'labels and names of a huge size',
    "const n = 'n'.repeat(2 ** 24); return Function(`var ${n} = 1; ${n}: for (;;) { break ${n} } return ${n}`)()",
  ),
  stuck('code that nests deeply', "return eval('['.repeat(1e6) + ']'.repeat(1e6)).length"),
  stuck('an expression of a million terms', "return eval(Array(1e6).fill('1').join('+'))"),
  stuck(
    'a switch of many cases',
    "return eval('switch (x()) {' + Array.from({ length: 3e5 }, (_, i) => `case ${i}:`).join('') + '} function x() { return -1 }')",
  ),
  stuck(
    'a class of many members',
    "return Object.keys(new (eval('(class {' + Array.from({ length: 3e5 }, (_, i) => `m${i} = 1;`).join('') + '})'))()).length",
  ),
  spins(
    'a Date formatted without end',
    "for (;;) new Date(2 ** 40).toLocaleString('ar-EG', { dateStyle: 'full', timeZone: 'Asia/Tokyo' })",
  ),
  stuck('Intl lists', "return new Intl.ListFormat('en').format(Array(2e6).fill('x'.repeat(50))).length"),
  stuck(
    'Intl segments',
    "for (const x of new Intl.Segmenter('th', { granularity: 'word' }).segment('ก'.repeat(2 ** 22))) x.segment",
  ),
  some(
    'a Proxy as prototype of everything',
    'Object.setPrototypeOf(Object.prototype, new Proxy(Object.create(null), { get() { for (;;); } })); return { a: 1 }',
  ),
  some(
    'a Proxy as the global prototype',
    'Object.setPrototypeOf(globalThis, new Proxy({}, { has() { for (;;); }, get() { for (;;); } })); return unknownName',
  ),
  stuck('bind of bind', 'let f = () => 1; for (let i = 0; i < 1e7; i++) f = f.bind(null, i); return f()'),
  stuck(
    'a getter chain',
    'let o = {}; for (let i = 0; i < 1e6; i++) { const p = o; o = { get a() { return p.a } } } return o.a',
  ),
]

/** Objects that attack serialization when they are returned, cloned or printed. */
export const SERIALIZED: readonly Hostile[] = [
  row('threw', 'cpu')(
    'a toJSON that makes itself anew',
    'const f = () => ({ toJSON: () => [f()] }); return f()',
  ),
  row('threw', 'cpu')(
    'an error of errors',
    'throw new AggregateError(Array.from({ length: 1e5 }, (_, i) => new Error("e" + i)), "many")',
  ),
  row(
    'threw',
    'result',
    'memory',
    'cpu',
  )('a toJSON that nests', 'const f = (n) => ({ toJSON: () => ({ n, next: f(n + 1) }) }); return f(0)'),
  row(
    'result',
    'cpu',
    'memory',
    'crash',
    'threw',
  )('a bomb of shared parts', "let a = 'xxxxxxxxxx'; for (let i = 0; i < 30; i++) a = [a, a]; return a"),
  row(
    'result',
    'cpu',
    'memory',
    'crash',
    'threw',
  )(
    'a Proxy with endless keys',
    "return new Proxy({}, { ownKeys: () => Array.from({ length: 1e6 }, (_, i) => 'k' + i), getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }), get: () => 1 })",
  ),
  stuck(
    'a Proxy of an endless list',
    'return new Proxy([], { get: (_, k) => (k === "length" ? 2 ** 53 - 1 : k === "toJSON" ? undefined : 1) })',
  ),
  some(
    'a getter that changes its value',
    'let n = 0; return { get body() { return n++ ? () => 1 : { a: 1 } }, get headers() { return n++ % 2 ? null : {} } }',
  ),
  throws(
    'a getter that throws a Proxy',
    'return { get body() { throw new Proxy({}, { get() { throw 1 } }) } }',
  ),
  spins('a thenable whose then is a getter', 'return { get then() { for (;;); } }'),
  spins('a thenable in a thenable', 'const t = (n) => ({ then: (done) => done(t(n + 1)) }); return t(0)'),
  throws(
    'a promise that is itself',
    'let done; const p = new Promise((d) => { done = d }); done(p); return p',
  ),
  some('an async generator as result', 'return (async function* () { for (;;) yield 1 })()'),
  some('a structured clone of functions', 'return structuredClone({ f: () => 1 })'),
  some(
    'a structured clone of a Proxy',
    'return structuredClone(new Proxy({}, { ownKeys() { throw new Error("trap") } }))',
  ),
  stuck(
    'a structured clone of a bomb',
    'let a = [1]; for (let i = 0; i < 40; i++) a = [a, [...a]]; return structuredClone(JSON.parse(JSON.stringify(a)))',
  ),
  some(
    'console of getters, symbols and classes',
    'class A { static #x = 1; get [Symbol.toStringTag]() { throw 1 } [Symbol.for("nodejs.util.inspect.custom")]() { throw 2 } } console.log(new A(), A, Object.create(null), [, 1], -0, 1n, Symbol("s"), new Date(NaN), new Error("e"), new Map([[{}, new Set([1])]])); return 1',
  ),
  row('cpu', 'returned')(
    'console of an object that inspects itself for ever',
    'console.log({ [Symbol.for("nodejs.util.inspect.custom")]() { for (;;); } }); return 1',
  ),
  row(
    'cpu',
    'returned',
    'memory',
    'crash',
  )(
    'console of a deep object',
    'let o = {}; for (let i = 0; i < 1e6; i++) o = { o }; console.log(o); console.dir(o, { depth: Infinity }); return 1',
  ),
  row(
    'cpu',
    'returned',
    'memory',
    'threw',
  )(
    'format with a million places',
    "console.log('%s%o%j%d'.repeat(3e5), ...Array(1e5).fill({ a: 1 })); return 1",
  ),
  row('threw', 'result')(
    'an error with a status object',
    "throw Object.assign(new Error('x'), { status: { valueOf: () => 200 }, headers: 'h', body: 1n })",
  ),
]

/** The realm's interface: floods of calls, hostile arguments, modules of Node. */
export const SURFACE: readonly Hostile[] = [
  row('returned', 'threw')(
    'headers with hostile names',
    "const h = new Headers(); for (const n of ['a\\r\\nb', '__proto__', 'constructor', '', ' ', '\\0', 'ü', ':path']) try { h.append(n, 'v\\r\\nx: y') } catch {} return [...h]",
  ),
  row(
    'threw',
    'returned',
    'host_calls',
    'cpu',
    'memory',
  )(
    'a header of many megabytes',
    "await fetch('https://a.test', { headers: { a: 'x'.repeat(2 ** 22) } }); return 1",
  ),
  row(
    'threw',
    'returned',
    'host_calls',
  )(
    'a fetch of hostile things',
    "for (const x of [null, undefined, {}, Symbol('x'), { toString() { throw 1 } }, 'https://a.test/\\0', 'x'.repeat(1e6)]) try { await fetch(x, { method: 'PO ST', body: x, headers: x, signal: x }) } catch {} return 1",
  ),
  row(
    'host_calls',
    'threw',
    'cpu',
    'wall',
  )(
    'an abort for each of many fetches',
    "for (let i = 0; i < 1e5; i++) { const a = new AbortController(); fetch('https://a.test', { signal: a.signal }).catch(() => {}); a.abort() } await new Promise((d) => setTimeout(d, 50)); return 1",
  ),
  row(
    'host_calls',
    'threw',
    'cpu',
    'wall',
    'memory',
  )(
    'a flood of `bt`',
    "await Promise.all(Array.from({ length: 1e5 }, () => req.bt.tokens.retrieve('x'))); return 1",
  ),
  row(
    'threw',
    'returned',
    'host_calls',
    'cpu',
  )(
    'hostile arguments of `bt`',
    "for (const x of [1n, Symbol('x'), () => 1, new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } }), (() => { const o = {}; o.o = o; return o })()]) try { await req.bt.tokens.create(x) } catch {} try { await req.bt.tokens.retrieve(x) } catch {} return 1",
  ),
  some(
    'members that `bt` does not have',
    "const found = []; for (const k of ['constructor', '__proto__', 'then', 'toString', 'applications', 'tenants']) try { const f = req.bt[k]; if (typeof f === 'function') await f({}); } catch (e) { found.push(k) } return found.length",
  ),
  spins(
    'timers in a microtask loop',
    'const next = async () => { clearTimeout(setTimeout(next, 0)); await null; return next() }; return next()',
  ),
  row(
    'host_calls',
    'cpu',
    'memory',
    'crash',
    'threw',
  )(
    'immediates without end',
    'const next = () => { setImmediate(next); setImmediate(next) }; next(); await new Promise(() => {})',
  ),
  row(
    'cpu',
    'host_calls',
    'wall',
    'threw',
  )('nextTick without end', 'const next = () => process.nextTick(next); next(); await new Promise(() => {})'),
  row(
    'cpu',
    'host_calls',
    'memory',
    'threw',
    'crash',
  )(
    'listeners without end',
    "const { EventEmitter } = require('events'); const e = new EventEmitter(); e.setMaxListeners(0); for (;;) e.on('x', () => e.emit('x'))",
  ),
  row(
    'cpu',
    'host_calls',
    'memory',
    'threw',
    'wall',
  )(
    'a stream that never ends',
    "const { Readable } = require('stream'); for await (const c of new Readable({ read() { this.push('x') } })) c.length; return 1",
  ),
  row(
    'cpu',
    'memory',
    'threw',
    'crash',
  )('a Buffer of text that multiplies', "let s = 'ab'; for (;;) s = Buffer.from(s + s).toString('hex')"),
  row(
    'threw',
    'cpu',
    'memory',
    'crash',
  )('Buffer.alloc beyond all', 'const a = []; for (;;) a.push(Buffer.alloc(2 ** 31 - 1, 1))'),
  row(
    'cpu',
    'threw',
    'memory',
    'host_calls',
  )(
    'querystring of a bomb',
    "const q = require('querystring'); return Object.keys(q.parse('a&'.repeat(5e6), '&', '=', { maxKeys: 0 })).length",
  ),
  row(
    'cpu',
    'threw',
    'memory',
    'host_calls',
    'returned',
  )('URLs without end', "for (let i = 0; ; i++) new URL('https://a.test/' + 'x'.repeat(1e5) + i)"),
  some(
    'an encoder of a long text',
    "const s = '😀'.repeat(2 ** 22); const e = new TextEncoder(), d = new TextDecoder(); for (let i = 0; i < 50; i++) d.decode(e.encode(s)); return 1",
  ),
  some('atob of a long text', "return atob(btoa('x'.repeat(2 ** 24))).length"),
  some(
    'util.inspect of a hostile depth',
    "const u = require('util'); let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return u.inspect(o, { depth: Infinity }).length",
  ),
  some(
    'deep equality of bombs',
    "const a = require('assert'); const m = () => { let o = { a: 1 }; for (let i = 0; i < 24; i++) o = { a: o, b: o }; return o }; a.deepStrictEqual(m(), m()); return 1",
  ),
]
