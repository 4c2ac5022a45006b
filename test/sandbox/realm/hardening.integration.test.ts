import t from 'tap'
import { runRealm } from './kit.ts'

/** Replaces everything that code of ours might lean on. */
const POLLUTION = `
  const { defineProperty, getOwnPropertyNames } = Object
  const allowed = { __proto__: null, constructor: 1, caller: 1, callee: 1, arguments: 1 }
  const prototypes = [Array, String, Function, Map, Set, Promise, RegExp, Number, Error, Object]
  for (let i = 0; i < prototypes.length; i++) {
    const names = getOwnPropertyNames(prototypes[i].prototype)
    for (let j = 0; j < names.length; j++)
      if (!allowed[names[j]] && names[j] !== '__proto__')
        try { defineProperty(prototypes[i].prototype, names[j], { __proto__: null, value: () => { throw 'polluted ' + names[j] }, configurable: true, writable: true }) } catch {}
  }
  defineProperty(Array.prototype, Symbol.iterator, { __proto__: null, value: () => { throw 'polluted' } })
  JSON.stringify = () => '"lie"'
  JSON.parse = () => ({ ok: 'lie' })
  Object.prototype.toJSON = () => 'lie'
  Object.prototype.error = { name: 'Lie', message: 'lie' }
  Object.prototype.ok = 'lie'
  Object.prototype.kind = 'limit'
  Object.prototype.status = 200
  Reflect.apply = Object.assign = Object.create = Object.keys = () => { throw 'polluted' }
  globalThis.Promise = globalThis.Error = globalThis.String = globalThis.Map = class {}
`

t.test('replaced intrinsics do not prevent the report of an outcome', async (t) => {
  const returned = await runRealm(`module.exports = async () => { ${POLLUTION}; return { a: 1 } }`)
  t.equal(returned.outcome?.kind, 'returned')
  const threw = await runRealm(
    `module.exports = async () => { ${POLLUTION}; throw { name: 'Own', message: 'words' } }`,
  )
  t.match(threw.outcome, { kind: 'threw', name: 'Own', message: 'words', frames: [] })
  t.notOk(Object.hasOwn(threw.outcome ?? {}, 'status'))
  const timer = await runRealm(
    `module.exports = () => new Promise((resolve) => { const done = resolve; setTimeout(() => done(7), 1); ${POLLUTION} })`,
  )
  t.equal(timer.result, 7, 'timers still come back')
  const waited = await runRealm(
    `module.exports = async ({ bt }) => { const wait = bt.tokens.retrieve('a'); ${POLLUTION}; return (await wait).id }`,
    {
      sdk: true,
      call: async () => ({ id: 'a' }),
    },
  )
  t.equal(waited.result, 'a', 'results still arrive')
})

t.test('getters, proxies and thenables run as guest code', async (t) => {
  const looping = await runRealm(`module.exports = () => ({ get a() { for (;;); } })`, {
    timeout: 100,
  }).catch((error: Error) => error.message)
  t.match(looping, /timed out/, 'the entry that reads them is timed')
  const thenable = await runRealm(`module.exports = () => ({ then() { for (;;); } })`, {
    timeout: 100,
  }).catch((error: Error) => error.message)
  t.match(thenable, /timed out/)
  const proxied = await runRealm(
    `module.exports = () => new Proxy({ a: 1 }, { get: (o, k) => k === 'then' ? undefined : k === 'toJSON' ? undefined : 'got', ownKeys: () => ['a'] })`,
  )
  t.same(proxied.result, { a: 'got' })
})

t.test('WebAssembly, shared memory and resizable buffers are removed', async (t) => {
  const { result } = await runRealm(`module.exports = () => [
    typeof WebAssembly, typeof SharedArrayBuffer, typeof Atomics,
    ...['resize', 'transfer', 'transferToFixedLength'].map((name) => typeof ArrayBuffer.prototype[name]),
    (() => { try { return new ArrayBuffer(0, { maxByteLength: 1e9 }).resizable } catch (error) { return error.name } })(),
  ]`)
  t.same(
    result,
    Array(7)
      .fill('undefined')
      .with(6, null)
      .map((each) => each ?? undefined)
      .slice(0, 6)
      .concat([null]),
  )
})

t.test('host functions are unreachable', async (t) => {
  const { result } = await runRealm(`module.exports = () => {
    const names = []
    for (let each = globalThis; each; each = Object.getPrototypeOf(each)) names.push(...Object.getOwnPropertyNames(each))
    const text = names.filter((name) => /sidevault|host|install|ivm|enter/i.test(name))
    return [text, typeof process.mainModule, typeof module.constructor._load, typeof require.main, this === undefined,
      Object.keys(globalThis), Function('return typeof hostSync + typeof border')()]
  }`)
  t.same(result, [[], 'undefined', 'undefined', 'undefined', false, [], 'undefinedundefined'])
})

t.test('the internal loader is unreachable through call sites', async (t) => {
  const { result } = await runRealm(`
    const reached = []
    let busy = false
    const look = () => {
      if (busy) return
      busy = true
      const { prepareStackTrace } = Error
      Error.prepareStackTrace = (_, sites) => sites
      Error.stackTraceLimit = 60
      const sites = new Error().stack
      Error.prepareStackTrace = prepareStackTrace
      for (const site of Array.isArray(sites) ? sites : [])
        if (site.getFileName() !== 'request_transform' && (site.getFunction() || site.getThis()))
          reached.push(site.getFileName() + ' ' + site.getFunctionName())
      busy = false
    }
    let looks = 0
    for (const [owner, name] of [
      ...['defineProperty', 'create', 'assign', 'keys', 'entries', 'setPrototypeOf'].map((name) => [Object, name]),
      [Symbol, 'for'], [Array.prototype, 'forEach'],
    ]) {
      const real = owner[name]
      owner[name] = function (...args) { looks++; look(); return Reflect.apply(real, this, args) }
    }
    for (const name of ['util', 'http', 'zlib', 'assert', 'stream', 'events', 'querystring', 'punycode']) require(name)
    module.exports = () => ({ reached: [...new Set(reached)], looked: looks > 0 })
  `)
  t.same(result, { reached: [], looked: true })
})

t.test('contexts of one snapshot have different random numbers', async (t) => {
  const code = 'module.exports = () => [Math.random(), require("crypto").randomBytes(8).toString("hex")]'
  const [first, second] = [await runRealm(code), await runRealm(code)]
  t.not((first.result as number[])[0], (second.result as number[])[0])
  t.not((first.result as string[])[1], (second.result as string[])[1])
})
