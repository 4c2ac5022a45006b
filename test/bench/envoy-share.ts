/**
 * Envoy's share of a call, part by part: the configuration of the control plane, beside the same without one of its
 * parts. `npm run bench -- envoy-share [--quick]`. What Envoy talks to does as little as it can (`share-peers.ts`).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findEnvoy, renderStatic } from '../kit/envoy.ts'
import { freePort } from '../kit/sidevault.ts'
import { median } from './against.ts'
import { startDestination } from './destination.ts'
import { API_PARTS, type Change, proxyParts } from './envoy-parts.ts'
import { runEnvoy } from './envoys.ts'
import { httpRequest, load } from './load.ts'
import { bodyWith } from './proxy.ts'
import { table } from './report.ts'

interface Options {
  readonly rounds: number
  /** Of one measurement. */
  readonly seconds: number
  readonly warmSeconds: number
}

/** Of both that are compared. */
const CONCURRENCIES = [2, 8]
const complete: Change = () => {}

/** CPU seconds of all threads, in ns: a measurement is shorter than a hundred clock ticks. */
const scheduled = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (sum, id) => sum + Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]) / 1e9,
    0,
  )

/** An Envoy with the default configuration, changed. */
const startTarget = async (
  name: string,
  change: Change,
  { directory, authority, env }: Awaited<ReturnType<typeof startDestination>>,
) => {
  const port = await freePort()
  const at = (file: string) => join(directory, file)
  const bootstrap = renderStatic({
    listen: { host: '127.0.0.1', port },
    console: true,
    clientAddress: true,
    gatewaySockets: [at('complete.sock')],
    gatewayLogSockets: [at('log.sock')],
    apiSocket: at('api.sock'),
    grpcSocket: at('grpc.sock'),
    envoyAdminSocket: at(`${port}.sock`),
    prefixes: ['svc'],
    egress: {
      allow: ['127.0.0.0/8'],
      http: false,
      trustBundle: authority,
      resolvers: [{ address: '127.0.0.1', port: Number(env.SIDEVAULT_EGRESS_DNS?.split(':')[1]) }],
    },
    demo: { socket: at('demo.sock'), authority, host: 'demo.sidevault.test' },
  })
  change(bootstrap)
  const { pid, stop } = await runEnvoy(findEnvoy(), bootstrap, port)
  return {
    name,
    port,
    pid,
    stop,
    samples: CONCURRENCIES.map(() => [] as { cpu: number; p50: number; ratio: number }[]),
  }
}

type Target = Awaited<ReturnType<typeof startTarget>>

interface Call {
  readonly request: Buffer
  /** Part of each response. */
  readonly expected: string
}

/** µs of Envoy's CPU for a call, and p50 in ms. Throws when a response is another one. */
const measure = async (
  { name, port, pid }: Target,
  { request, expected }: Call,
  concurrency: number,
  seconds: number,
) => {
  const before = scheduled(pid)
  const { requests, p50, failures } = await load({
    ...{ host: '127.0.0.1', port, requests: [request], concurrency, seconds },
    onResponse: ({ content }) => {
      if (!content.includes(expected)) throw new Error(`without ${name}: ${content}`)
    },
  })
  if (failures > 0) throw new Error(`without ${name}: ${failures} calls failed`)
  return { cpu: ((scheduled(pid) - before) / requests) * 1e6, p50 }
}

/**
 * Each configuration beside the complete one, at the same time: half of the calls go to each, so what else the machine
 * does is in both. Ratios: the median of the rounds, and their quartiles.
 */
const shares = async (
  targets: readonly [Target, ...Target[]],
  call: Call,
  { rounds, seconds, warmSeconds }: Options,
) => {
  const [reference, ...others] = targets
  for (const target of targets) await measure(target, call, 8, warmSeconds)
  for (let round = 0; round < rounds; round++)
    for (const [index, concurrency] of CONCURRENCIES.entries())
      for (const target of others) {
        const [own, complete] = await Promise.all([
          measure(target, call, concurrency / 2, seconds),
          measure(reference, call, concurrency / 2, seconds),
        ])
        target.samples[index]?.push({ ...own, ratio: own.cpu / complete.cpu })
        reference.samples[index]?.push({ ...complete, ratio: 1 })
      }
  const rows = targets.map(({ name, samples }) => [
    name,
    ...samples.flatMap((own) => {
      const ratios = own.map(({ ratio }) => ratio).sort((one, other) => one - other)
      const at = (share: number) => ratios[Math.floor((ratios.length - 1) * share)]?.toFixed(2)
      return [
        median(own.map(({ cpu }) => cpu)).toFixed(0),
        `${median(ratios).toFixed(3)} (${at(0.25)} to ${at(0.75)})`,
        median(own.map(({ p50 }) => p50)).toFixed(2),
      ]
    }),
  ])
  const columns = CONCURRENCIES.flatMap((count) => [
    `${count / 2} at once, of each: µs`,
    '× complete',
    'p50 ms',
  ])
  return table(['without', ...columns], rows)
}

/** Tables of a call to `/proxy` and of a read. */
export const benchEnvoyShare = async (options: Options): Promise<string> => {
  const destination = await startDestination()
  const script = fileURLToPath(new URL('share-peers.ts', import.meta.url))
  const peers = spawn(
    process.execPath,
    [script, destination.directory, `${destination.host}:${destination.port}`],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await once(peers.stdout, 'data')
  const json = { 'content-type': 'application/json', 'svc-api-key': `key_${'x'.repeat(32)}` }
  const proxied = { ...json, 'svc-proxy-url': destination.url }
  const kinds = [
    {
      title: 'a call to `/proxy`, 1 KB',
      request: httpRequest('POST', '/proxy/charge', proxied, bodyWith(`{{ ${'x'.repeat(36)} }}`, 1_024)),
      expected: '{"status":"succeeded","id":"ch_1"}',
      parts: proxyParts(destination),
    },
    {
      title: 'a read of the API',
      request: httpRequest('GET', '/tokens/0fb4b8a6-6a3e-4f4e-9a3f-1f1b5f0f6d5e', json),
      expected: 'x'.repeat(300),
      parts: API_PARTS,
    },
  ]
  const started: Target[] = []
  const text: string[] = []
  try {
    for (const { title, parts, ...call } of kinds) {
      const start = async (name: string, change: Change) => {
        const target = await startTarget(name, change, destination)
        started.push(target)
        return target
      }
      const targets: [Target, ...Target[]] = [await start('nothing (complete)', complete)]
      for (const [name, change] of Object.entries({ 'nothing, once more': complete, ...parts }))
        targets.push(await start(name, change))
      process.stderr.write(`${title}: ${targets.length} configurations …\n`)
      text.push(`Envoy's CPU for ${title}:`, '', await shares(targets, call, options), '')
      for (const { stop } of started.splice(0)) await stop()
    }
    return text.join('\n')
  } finally {
    for (const { stop } of started) await stop()
    peers.kill('SIGTERM')
    await destination.stop()
  }
}
