import t from 'tap'
import { runRealm, sameAsNode } from './kit.ts'

sameAsNode(t, 'events', async () => {
  const EventEmitter = require('node:events')
  const emitter = new EventEmitter()
  const seen: unknown[] = []
  emitter.on('x', (value: number) => seen.push(value))
  emitter.once('x', () => seen.push('once'))
  emitter.prependListener('x', () => seen.push('first'))
  emitter.emit('x', 1)
  emitter.emit('x', 2)
  const waiting = EventEmitter.once(emitter, 'y')
  emitter.emit('y', 7, 8)
  let failure: unknown
  try {
    emitter.emit('error', new Error('no listener'))
  } catch (error) {
    failure = (error as Error).message
  }
  return [
    seen,
    await waiting,
    emitter.listenerCount('x'),
    failure,
    new EventEmitter.EventEmitter() instanceof EventEmitter,
  ]
})

sameAsNode(t, 'path', () => {
  const path = require('node:path')
  return [
    path.join('/a', '..', 'b', './c'),
    path.extname('x.tar.gz'),
    path.basename('/q/w.js', '.js'),
    path.resolve('/a', 'b', '../c'),
    path.parse('/x/y.z'),
    path.format({ dir: '/x', base: 'y' }),
    path.relative('/a/b', '/a/c'),
    path.isAbsolute('a'),
    path.normalize('/a//b/../c/'),
    path.sep,
  ]
})

sameAsNode(t, 'tables are those of Node', () => [
  require('node:zlib').constants,
  require('node:http').STATUS_CODES,
  require('node:http').METHODS,
  require('node:crypto').constants.RSA_PKCS1_PSS_PADDING,
  require('node:constants').RSA_PSS_SALTLEN_AUTO,
])

sameAsNode(t, 'punycode', () => {
  const punycode = require('node:punycode')
  return [
    punycode.encode('mañana'),
    punycode.decode('maana-pta'),
    punycode.toASCII('mañana.com'),
    punycode.toUnicode('xn--maana-pta.com'),
    punycode.ucs2.decode('a😀'),
  ]
})

sameAsNode(t, 'string_decoder', () => {
  const { StringDecoder } = require('node:string_decoder')
  const decoder = new StringDecoder('utf8')
  return [
    decoder.write(Buffer.from([0xe2, 0x82])),
    decoder.write(Buffer.from([0xac])),
    decoder.end(Buffer.from('x')),
  ]
})

sameAsNode(t, 'streams are piped, transformed and iterated', async () => {
  const { Readable, Transform, Writable, PassThrough, pipeline } = require('node:stream')
  const { promisify } = require('node:util')
  const chunks: string[] = []
  const upper = new Transform({
    transform(chunk: Buffer, _: string, done: (error: null, chunk: string) => void) {
      done(null, chunk.toString().toUpperCase())
    },
  })
  await promisify(pipeline)(
    Readable.from(['a', 'b', 'c']),
    upper,
    new Writable({
      write(chunk: Buffer, _: string, done: () => void) {
        chunks.push(chunk.toString())
        done()
      },
    }),
  )
  const through = new PassThrough()
  through.end('héllo')
  let text = ''
  for await (const chunk of through) text += chunk.toString()
  const failing = new Readable({
    read(this: { destroy(error: Error): void }) {
      this.destroy(new Error('broken'))
    },
  })
  const failure = await promisify(pipeline)(failing, new PassThrough()).catch((error: Error) => error.message)
  return [chunks, text, failure]
})

sameAsNode(t, 'zlib', async () => {
  const zlib = require('node:zlib')
  const { promisify } = require('node:util')
  const text = 'hello wörld '.repeat(50)
  const failure = (run: () => unknown) => {
    try {
      return run()
    } catch (error) {
      const { message, code } = error as Error & { code: string }
      return [message, code]
    }
  }
  const streamed = async () => {
    const gunzip = zlib.createGunzip()
    gunzip.end(zlib.gzipSync(text))
    const chunks: Buffer[] = []
    for await (const chunk of gunzip) chunks.push(chunk)
    return Buffer.concat(chunks).toString()
  }
  return [
    zlib.gunzipSync(zlib.gzipSync(text)).toString(),
    zlib.deflateSync(text).toString('base64'),
    zlib.deflateRawSync(Buffer.from(text), { level: 9 }).toString('base64'),
    zlib.brotliDecompressSync(zlib.brotliCompressSync(text)).toString(),
    zlib.unzipSync(zlib.deflateSync('x')).toString(),
    (await promisify(zlib.inflate)(zlib.deflateSync('y'))).toString(),
    await promisify(zlib.gunzip)('nope').catch((error: Error) => error.message),
    failure(() => zlib.gunzipSync('nope')),
    await streamed(),
    zlib.constants.Z_BEST_COMPRESSION,
  ]
})

sameAsNode(t, 'timers, microtasks and cancelling', async () => {
  const order: unknown[] = []
  setTimeout((...args: unknown[]) => order.push(args), 60, 'late', 1)
  setTimeout(() => order.push('soon'), 1)
  clearTimeout(setTimeout(() => order.push('writeOnly'), 2))
  queueMicrotask(() => order.push('micro'))
  let times = 0
  await new Promise<void>((resolve) => {
    const interval = setInterval(() => {
      if (++times < 3) return
      clearInterval(interval)
      resolve()
    }, 1)
  })
  await new Promise((resolve) => setImmediate(resolve))
  await require('node:timers/promises').setTimeout(80)
  return [order, times]
})

sameAsNode(t, 'structuredClone copies a member of the name __proto__ as a member', () => {
  const copy = structuredClone(JSON.parse('{"__proto__":{"admin":true},"a":1}'))
  return [Object.hasOwn(copy, '__proto__'), copy.admin === undefined, Object.keys(copy)]
})

sameAsNode(t, 'structuredClone and AbortController', () => {
  const original: Record<string, unknown> = {
    date: new Date(0),
    map: new Map([[1, { x: 1 }]]),
    set: new Set(['a']),
    pattern: /x/g,
    bytes: new Uint8Array([1, 2]),
    error: new TypeError('t'),
    none: undefined,
    list: [1, [2]],
  }
  original.self = original
  const copy = structuredClone(original) as typeof original
  const attempt = (value: unknown) => {
    try {
      structuredClone(value)
      return 'cloned'
    } catch (error) {
      return (error as Error).name
    }
  }
  const controller = new AbortController()
  let events = 0
  controller.signal.addEventListener('abort', () => events++)
  controller.abort()
  controller.abort()
  return [
    copy.self === copy,
    (copy.date as Date).getTime(),
    [...(copy.map as Map<number, unknown>)],
    [...(copy.set as Set<string>)],
    String(copy.pattern),
    [...(copy.bytes as Uint8Array)],
    copy.error instanceof TypeError,
    copy.list,
    'none' in copy,
    attempt(() => {}),
    attempt(Symbol('s')),
    controller.signal.aborted,
    events,
    (controller.signal.reason as Error).name,
    AbortSignal.abort('why').reason,
  ]
})

t.test('process reports Node 16, and nothing of its host', async (t) => {
  const { result } = await runRealm(`module.exports = () => ({
    version: process.version, env: process.env, argv: process.argv, cwd: process.cwd(), same: require('process') === process,
    binding: typeof process.binding, exit: (() => { try { process.exit() } catch (error) { return error.name } })(),
    elapsed: process.hrtime(process.hrtime()).length, big: typeof process.hrtime.bigint(),
  })`)
  t.same(result, {
    version: 'v16.20.2',
    env: {},
    argv: ['node'],
    cwd: '/code',
    same: true,
    binding: 'undefined',
    exit: 'Error',
    elapsed: 2,
    big: 'bigint',
  })
})

t.test('missing modules have the error code that libraries check', async (t) => {
  const { result } =
    await runRealm(`module.exports = () => ['fs', 'node:net', 'child_process', 'vm', 'worker_threads', 'pino', './x', '#loader', '__proto__', 'constructor'].map((name) => {
    try { return require(name) && 'loaded' } catch (error) { return error.code }
  })`)
  t.same(result, Array(10).fill('MODULE_NOT_FOUND'))
})
