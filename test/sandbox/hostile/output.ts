import { type Hostile, program } from './program.ts'

const row = (name: string, body: string, ...ends: Hostile['ends']): Hostile => ({
  name,
  code: program(body),
  ends,
})

/** Unlimited results, errors and console output; and floods of calls of the service. */
export const OUTPUT: readonly Hostile[] = [
  row('a result that is too long', "return 'x'.repeat(2 ** 21)", 'result'),
  row('a result of many members', 'return Array(2 ** 19).fill(12345)', 'result'),
  row(
    'a result that nests too deeply',
    'let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return o',
    'threw',
    'result',
  ),
  row('a result in a circle', 'const o = {}; o.o = o; return o', 'threw'),
  row('a result that JSON cannot represent', 'return 1n', 'threw'),
  row('a toJSON that lies', 'return { toJSON: () => "x".repeat(2 ** 21) }', 'result'),
  row('a long error', "throw new Error('x'.repeat(2 ** 22))", 'threw', 'result'),
  row(
    'a long name of an error',
    "const e = new Error('x'); e.name = 'N'.repeat(2 ** 22); throw e",
    'threw',
    'result',
  ),
  row(
    'a long stack',
    "const e = new Error('x'); e.stack = 'at x\\n'.repeat(2 ** 20); throw e",
    'threw',
    'result',
  ),
  row('a long text thrown', "throw 'x'.repeat(2 ** 22)", 'threw', 'result'),
  row('console lines without end', "for (;;) console.log('x')", 'cpu'),
  row(
    'long console lines',
    "for (let i = 0; i < 50; i++) console.log('x'.repeat(2 ** 20)); return 1",
    'returned',
    'cpu',
    'memory',
  ),
  row(
    'console of a large object',
    'console.log(Array(1e6).fill({ a: [1, 2, 3] })); return 1',
    'returned',
    'cpu',
    'memory',
  ),
  row(
    'console of a circle',
    'const o = {}; o.o = o; console.log(o, [o], new Map([[o, o]])); return 1',
    'returned',
  ),
  row(
    'console of hostile objects',
    'console.log(new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } })); return 1',
    'returned',
    'threw',
  ),
  row(
    'a header that is not text',
    "const { CustomHttpResponseError } = require('sidevault'); throw new CustomHttpResponseError({ status: 200, headers: { a: { b: 1 } }, body: 1n })",
    'threw',
  ),
  ...[
    "throw new CustomHttpResponseError({ status: 429, headers: { 'retry-after': 30 } })",
    'throw new CustomHttpResponseError({ status: 429, headers: null })',
    "throw new CustomHttpResponseError({ status: 429, headers: { 'set-cookie': ['a', 'b'] } })",
    'const e = new BadRequestError(); e.status = 700; throw e',
    'const e = new BadRequestError(); e.status = -1; throw e',
  ].map((code) =>
    row(
      `a typed error: ${code}`,
      `const { BadRequestError, CustomHttpResponseError } = require('sidevault'); ${code}`,
      'threw',
    ),
  ),
  row('an invalid status', "const e = new Error('x'); e.status = 99999; throw e", 'threw'),
]

/** Floods of host calls and timers. The test's host responds to `fetch`. */
export const CALLS: readonly Hostile[] = [
  row(
    'random bytes without end',
    "const c = require('crypto'); for (;;) c.randomBytes(8)",
    'host_calls',
    'cpu',
  ),
  row(
    'hashes without end',
    "const c = require('crypto'); for (;;) c.createHash('sha256').update('x').digest()",
    'host_calls',
    'cpu',
  ),
  row(
    'errors of host calls, caught',
    "const c = require('crypto'); for (;;) try { c.createHash('none') } catch {}",
    'host_calls',
    'cpu',
  ),
  row('a very large random', "return require('crypto').randomBytes(2 ** 30).length", 'threw'),
  row(
    'a key derivation of a billion rounds',
    "return require('crypto').pbkdf2Sync('a', 'b', 1e9, 64, 'sha512')",
    'threw',
  ),
  row(
    'key derivations of the longest permitted kind in sequence',
    "const { pbkdf2Sync, scryptSync } = require('crypto'); for (;;) { try { pbkdf2Sync('a', 'b', 1e6, 64, 'sha512') } catch {} try { scryptSync('a', 'b', 64, { N: 2 ** 16, r: 8, p: 2 }) } catch {} }",
    'cpu',
    'host_calls',
  ),
  row(
    'a scrypt of much memory',
    "return require('crypto').scryptSync('a', 'b', 64, { N: 2 ** 24, r: 8, p: 1, maxmem: 2 ** 40 })",
    'threw',
  ),
  row(
    'a compression bomb',
    "const z = require('zlib'); let b = Buffer.alloc(2 ** 20); for (let i = 0; i < 4; i++) b = Buffer.concat([b, b]); return z.gunzipSync(z.gzipSync(b)).length",
    'threw',
    'returned',
    'host_calls',
    'cpu',
    'memory',
    'crash', // buffers lie outside V8's heap: the limit of the process may end it first
  ),
  row(
    'fetches at once',
    "await Promise.all(Array.from({ length: 1e5 }, () => fetch('https://a.test')))",
    'host_calls',
    'cpu',
    'memory',
  ),
  row(
    'fetches one after the other',
    "for (;;) try { await fetch('https://a.test') } catch {}",
    'cpu',
    'wall',
    'host_calls',
  ),
  row(
    'fetches that are not awaited',
    "for (let i = 0; i < 50; i++) fetch('https://a.test').catch(() => {}); return 1",
    'returned',
  ),
  row(
    'a fetch with a huge body',
    "await fetch('https://a.test', { method: 'POST', body: 'x'.repeat(2 ** 25) }); return 1",
    'returned',
    'threw',
    'host_calls',
    'memory',
    'cpu',
    'result',
    'crash',
  ),
  row('timers without end', 'for (;;) setTimeout(() => {}, 1e6)', 'host_calls', 'cpu', 'memory', 'wall'),
  row('an interval without end', 'setInterval(() => {}, 1); await new Promise(() => {})', 'wall', 'cpu'),
  row(
    'timers that make timers',
    'const next = () => { setTimeout(next, 0); setTimeout(next, 0) }; next(); await new Promise(() => {})',
    'host_calls',
    'wall',
    'cpu',
  ),
  row('a promise that waits for nothing', 'await new Promise(() => {})', 'threw'),
  row('a wait that is too long', 'await new Promise((done) => setTimeout(done, 2 ** 30))', 'wall'),
]

/** Work that would continue after the end of the invocation. */
export const OUTLIVING: readonly Hostile[] = [
  row('a timer after the result', 'setTimeout(() => { for (;;); }, 5); return 1', 'returned'),
  row('an interval after the result', 'setInterval(() => { for (;;); }, 1); return 1', 'returned'),
  row('a fetch after the result', "setTimeout(() => fetch('https://late.test'), 5); return 1", 'returned'),
  row(
    'a promise after the result',
    'new Promise((done) => setTimeout(done, 5)).then(() => { for (;;); }); return 1',
    'returned',
  ),
  row('an unhandled rejection', 'Promise.reject(new Error("unhandled")); return 1', 'returned'),
  row(
    'a throw in a timer',
    'setTimeout(() => { throw new Error("late") }, 1); await new Promise((done) => setTimeout(done, 20)); return 1',
    'returned',
    'threw',
  ),
  row('two outcomes', 'return { then(done, fail) { done(1); fail(new Error("x")); done(2) } }', 'returned'),
]
