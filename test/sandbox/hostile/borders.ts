import { type End, type Hostile, program } from './program.ts'

const row =
  (...ends: readonly End[]) =>
  (name: string, body: string): Hostile => ({ name, code: program(body), ends })

const spins = row('cpu')
const throws = row('threw')
const returns = row('returned')
/** Several of its own limits may end it first. */
const expensive = row('cpu', 'memory', 'crash', 'threw', 'host_calls', 'wall')

/** Hostile arguments of `bt` and `fetch`, patched intrinsics, results. */
export const HANDED_OVER: readonly Hostile[] = [
  spins('a getter in an argument of `bt`', 'await req.bt.tokens.create({ get data() { for (;;); } })'),
  throws(
    'a deep argument of `bt`',
    'let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; await req.bt.tokenize(o)',
  ),
  row('threw', 'cpu', 'memory')('a wide argument of `bt`', "await req.bt.tokenize(Array(1e6).fill('x'))"),
  row(
    'cpu',
    'memory',
    'returned',
    'threw',
    'crash',
  )('a long argument of `bt`', "await req.bt.tokens.create({ data: 'x'.repeat(2 ** 24) })"),
  row('threw', 'returned')(
    'prototypes that pose as a request',
    "Object.prototype.url = 'https://evil.test'; Object.prototype.method = 'DELETE'; Object.prototype.headers = [['a', 'b']]; String.prototype.toJSON = () => 'y'; return (await fetch('https://a.test')).status",
  ),
  spins(
    'a `then` that is replaced',
    'Promise.prototype.then = function () { for (;;); }; return fetch("https://a.test")',
  ),
  spins(
    'a species of promises',
    'class P extends Promise { static get [Symbol.species]() { for (;;); } } return new P((d) => d(1)).then((x) => x)',
  ),
  spins(
    'a species of arrays',
    'const a = [1, 2]; a.constructor = { [Symbol.species]: function () { return new Proxy([], { defineProperty() { for (;;); } }) } }; return a.map((x) => x)',
  ),
  returns(
    'a `kind` on every object',
    "Object.defineProperty(Object.prototype, 'kind', { set() { for (;;); }, get() { return 'returned' } }); return { a: 1 }",
  ),
  returns(
    'a JSON of its own',
    'JSON.stringify = () => \'{"forged":1}\'; JSON.parse = () => ({}); return { a: 1 }',
  ),
  spins(
    'lists of headers',
    "return { body: {}, headers: { 'set-cookie': Array(1e6).fill({ toString() { for (;;); } }, 0, 1).map(String) } }",
  ),
  expensive(
    'a million headers',
    "return { body: {}, headers: { 'set-cookie': Array(3e6).fill('a=b'.repeat(9)) } }",
  ),
  throws('a sparse list as result', 'const a = []; a[2 ** 32 - 2] = 1; return a'),
  expensive(
    'a getter of the result that fills memory',
    'return { body: { get x() { return Array(1e9).fill(1) } } }',
  ),
  spins(
    'a getter of a custom response',
    "const { CustomHttpResponseError } = require('sidevault'); throw new CustomHttpResponseError({ status: 200, headers: {}, body: { get a() { for (;;); } } })",
  ),
  row(
    'cpu',
    'threw',
    'result',
    'memory',
  )(
    'a custom response that is too long',
    "const { CustomHttpResponseError } = require('sidevault'); throw new CustomHttpResponseError({ status: 200, headers: { a: 'x'.repeat(2 ** 22) }, body: 'x'.repeat(2 ** 24) })",
  ),
  spins('a status that is a getter', 'throw { get status() { for (;;); } }'),
  row(
    'cpu',
    'threw',
    'memory',
  )(
    'a chain of causes',
    "let e = new Error('x'); for (let i = 0; i < 1e5; i++) e = Object.assign(new Error('y'), { cause: e }); throw e",
  ),
  spins(
    'a getter in the place of prepareStackTrace',
    "Object.defineProperty(Error, 'prepareStackTrace', { get() { for (;;); } }); null.x",
  ),
  expensive(
    'stacks without end',
    'const o = {}; Error.stackTraceLimit = 1e9; (function f(n) { if (n) return f(n - 1); for (;;) Error.captureStackTrace(o) })(2000)',
  ),
]

/** Loops and memory in the corners of the language that other groups leave out. */
export const CORNERS: readonly Hostile[] = [
  spins(
    'an async generator that does not finish',
    'const g = (async function* () { try { for (;;) yield 1 } finally { for (;;) await 1 } })(); await g.next(); await g.return(1)',
  ),
  expensive(
    'a queue of an async generator',
    'const g = (async function* () { yield new Promise(() => {}) })(); const a = []; for (;;) a.push(g.next())',
  ),
  row('threw', 'cpu')(
    'generators within generators',
    'function* f(n) { if (n) yield* f(n - 1); else for (;;) yield 1 } for (const x of f(1e4));',
  ),
  row('returned', 'cpu')(
    'finalizers that loop',
    'const r = new FinalizationRegistry(() => { for (;;); }); for (let i = 0; i < 1e5; i++) r.register({}, i); for (let i = 0; i < 50; i++) { new Array(1e5).fill(i); await new Promise((d) => setTimeout(d, 1)) } return 1',
  ),
  spins(
    'microtasks after the result',
    'Promise.resolve().then(() => Promise.resolve()).then(() => { for (;;); }); return 1',
  ),
  row('host_calls', 'returned')(
    'timers after the result',
    'for (let i = 0; i < 500; i++) setTimeout(() => { for (;;); }, i % 3); return 1',
  ),
  spins(
    'a microtask that is a Proxy',
    'queueMicrotask(new Proxy(() => {}, { apply() { for (;;); } })); await 1; return 1',
  ),
  spins(
    'a `with` around a Proxy',
    "return Function('o', 'with (o) { return a }')(new Proxy({}, { has() { for (;;); } }))",
  ),
  expensive(
    'template objects',
    "const f = (s) => s; const a = new Set(); for (let i = 0; ; i++) a.add(Function('f', 'return f`' + i + '`')(f))",
  ),
  expensive('String.raw of a huge length', 'return String.raw({ raw: { length: 2 ** 53 - 1 } }).length'),
  expensive(
    'a comparison that changes the list',
    'const a = Array.from({ length: 1e5 }, Math.random); for (;;) a.sort((x, y) => { a.length = 0; a.push(...Array(10)); return x - y })',
  ),
  row(
    'threw',
    'cpu',
    'memory',
  )(
    'a reviver that lengthens',
    "return JSON.parse('[1]', function (k, v) { if (Array.isArray(this)) this.length = 2 ** 32 - 1; return v })",
  ),
  row('threw', 'cpu')('a reviver within a reviver', 'const f = () => JSON.parse(\'{"a":1}\', f); return f()'),
  expensive(
    'an expression with counts of counts',
    "return new RegExp('((a{0,1000}){0,1000}){0,100}b').test('a'.repeat(100))",
  ),
  expensive(
    'a class of characters beyond the first plane',
    "for (;;) new RegExp('[' + Array.from({ length: 1e5 }, (_, i) => String.fromCodePoint(0x10000 + i)).join('') + ']', 'u').test('x')",
  ),
  expensive(
    'a sticky replacement in a loop',
    "let s = 'a'.repeat(1e6); for (;;) s = s.replace(/a/gy, () => 'a')",
  ),
  expensive('a long list in a locale', "return Array(1e6).fill(new Date()).toLocaleString('de').length"),
  expensive(
    'accessors without end',
    "const o = {}; for (let i = 0; ; i++) Object.defineProperty(o, 'k' + i, { get() { return 1 }, configurable: true, enumerable: true })",
  ),
  expensive('a chain of prototypes', 'let p = {}; for (;;) { p = Object.create(p); p.x }'),
]

/** Modules of Node with unusual arguments. */
export const OF_NODE: readonly Hostile[] = [
  throws(
    'bytes that lie about their length',
    "return require('crypto').createHash('sha256').update({ length: 2 ** 31, buffer: new ArrayBuffer(1), byteLength: 2 ** 31, [Symbol.toStringTag]: 'Uint8Array' }).digest('hex')",
  ),
  row('threw', 'returned')(
    'a typed array with a length of its own',
    "const u = new Uint8Array(4); Object.defineProperty(u, 'length', { value: 2 ** 30 }); Object.defineProperty(u, 'byteLength', { value: 2 ** 30 }); return require('crypto').createHash('sha256').update(u).digest('hex')",
  ),
  {
    ...returns(
      'what another buffer left in the pool',
      "let found = ''; for (let i = 0; i < 100; i++) found += Buffer.from(Buffer.allocUnsafe(100).buffer).toString('latin1').replace(/\\0/g, ''); return found",
    ),
    json: '""',
  },
  throws(
    'one buffer ten thousand times',
    'return Buffer.concat(Array(1e4).fill(Buffer.alloc(2 ** 20))).length',
  ),
  expensive(
    'a search for long bytes in longer ones',
    "const b = Buffer.alloc(2 ** 23, 'a'); for (;;) b.indexOf(Buffer.concat([Buffer.alloc(2 ** 22, 'a'), Buffer.from('b')]))",
  ),
  expensive(
    'names in Punycode without end',
    "const u = require('url'); for (;;) u.domainToUnicode('xn--' + 'zza'.repeat(2e4))",
  ),
  expensive(
    'a URL that grows by its parameters',
    "const u = new URL('https://a.test'); for (let i = 0; ; i++) u.searchParams.append('k' + i, 'v'.repeat(1000))",
  ),
  expensive(
    'compression both ways',
    "const z = require('zlib'); let b = Buffer.alloc(9e6); for (;;) b = z.inflateSync(z.deflateSync(b))",
  ),
  row(
    'threw',
    'returned',
    'memory',
    'crash',
    'cpu',
  )(
    'a Brotli window of a gigabyte',
    "const { brotliCompressSync, constants: c } = require('zlib'); return brotliCompressSync(Buffer.alloc(2e5, 'ab'), { params: { [c.BROTLI_PARAM_LARGE_WINDOW]: 1, [c.BROTLI_PARAM_LGWIN]: 30, [c.BROTLI_PARAM_QUALITY]: 11 } }).length",
  ),
  row(
    'cpu',
    'returned',
    'threw',
  )(
    'many members in one gzip',
    "const z = require('zlib'); return z.gunzipSync(Buffer.concat(Array(2e5).fill(z.gzipSync('')))).length",
  ),
  expensive(
    'a hundred bombs through streams',
    "const z = require('zlib'); const b = z.gzipSync(Buffer.alloc(9e6)); await Promise.all(Array.from({ length: 100 }, () => new Promise((d, f) => { const s = z.createGunzip(); s.on('data', () => {}); s.on('end', d); s.on('error', f); s.end(b) }))); for (;;);",
  ),
  expensive(
    'a stream into itself',
    "const { Transform } = require('stream'); const t = new Transform({ transform(c, e, d) { this.push(c); this.push(c); d() } }); t.pipe(t); t.write('x'); await new Promise(() => {})",
  ),
  expensive(
    'keys of RSA without end',
    "const c = require('crypto'); for (;;) c.generateKeyPairSync('rsa', { modulusLength: 2048 })",
  ),
  returns(
    'exponents that no key of RSA has',
    "const c = require('crypto'); return [4, 6, 65536].map((publicExponent) => { try { return c.generateKeyPairSync('rsa', { modulusLength: 512, publicExponent }) && 'made' } catch { return 'rejected' } }).join()",
  ),
  throws(
    'a digest of two gigabytes',
    "return require('crypto').createHash('shake256', { outputLength: 2 ** 31 - 1 }).update('x').digest().length",
  ),
  expensive(
    'digests of all kinds',
    "const c = require('crypto'); const b = Buffer.alloc(4e6); for (;;) for (const h of c.getHashes()) try { c.createHash(h).update(b).digest() } catch {}",
  ),
  expensive(
    'unfinished ciphers',
    "const c = require('crypto'); for (;;) c.createCipheriv('aes-256-gcm', Buffer.alloc(32), Buffer.alloc(12))",
  ),
  throws(
    'a derivation by `subtle` of two billion rounds',
    "const { webcrypto: { subtle } } = require('crypto'); const k = await subtle.importKey('raw', Buffer.from('x'), 'PBKDF2', false, ['deriveBits']); return (await subtle.deriveBits({ name: 'PBKDF2', salt: Buffer.alloc(8), iterations: 2 ** 31 - 1, hash: 'SHA-512' }, k, 2 ** 9)).byteLength",
  ),
  expensive(
    'signals that are never aborted',
    "const c = new AbortController(); for (;;) c.signal.addEventListener('abort', () => {})",
  ),
  expensive('blobs of blobs', "let b = new Blob(['x'.repeat(1e6)]); for (;;) b = new Blob([b, b])"),
  expensive(
    'a promise for each of many events',
    "const { once, EventEmitter } = require('events'); const e = new EventEmitter(); const a = []; for (;;) { a.push(once(e, 'x')); if (a.length % 1e5 === 0) e.emit('x') }",
  ),
  row('cpu', 'returned')(
    'a decoder of every label',
    "for (const l of ['utf-16be', 'shift_jis', 'gb18030', 'utf-32', 'x'.repeat(1e6)]) try { new TextDecoder(l).decode(new Uint8Array(4e5)) } catch {} return 1",
  ),
]
