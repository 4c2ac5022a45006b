import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findEnvoy } from '../kit/envoy.ts'
import { freePort, startSidevault } from '../kit/sidevault.ts'
import { cpuUntilStored, residentMiB } from './cpu.ts'
import { startDestination } from './destination.ts'
import { edgeConfig, runEnvoy } from './envoys.ts'
import { httpRequest, load, warm } from './load.ts'
import { partsBelow } from './processes.ts'

export interface ProxyFigures {
  readonly target: string
  readonly concurrency: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** CPU seconds per 1,000 requests of each process of the target. */
  readonly cpu: Readonly<Record<string, number>>
  readonly failures: number
}

/** Code of the kinds people write. */
export const EDIT = `module.exports = async ({ args: { body, headers } }) => {
  const { card, ...rest } = body
  return { body: { ...rest, source: { pan: card } }, headers: { ...headers, 'x-order': '7' } }
}`
const SIGN = `const { createHmac } = require('crypto')
module.exports = async ({ args: { body, headers } }) => {
  const signature = createHmac('sha256', 'key').update(JSON.stringify(body)).digest('hex')
  return { body, headers: { ...headers, 'x-signature': signature } }
}`
const RESPONSE_TRANSFORM =
  'module.exports = async ({ args: { body, headers } }) => ({ body: { charge: body.id, ok: body.status === "succeeded" }, headers })'

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** A JSON body of about `bytes` with `token` in one member. */
export const bodyWith = (expression: string, bytes: number): string => {
  const body = { amount: 1999, currency: 'usd', card: expression, padding: '' }
  body.padding = 'x'.repeat(Math.max(0, bytes - JSON.stringify(body).length))
  return JSON.stringify(body)
}

/**
 * (a) Envoy straight to the destination, (b) Envoy with a no-op processor, (c) Sidevault with one token in a
 * 1 KB JSON body and everything on, (d) the same through a stored proxy, (e) with a request
 * transform that edits, (f) with one that signs and a response transform. Targets are interleaved; each figure is the
 * median of `rounds` stretches.
 */
export const benchProxy = async (options: {
  /** Each target is asked for so long at most before it is measured. */
  warmSeconds: number
  seconds: number
  rounds: number
  concurrencies: readonly number[]
}) => {
  const destination = await startDestination()
  const binary = findEnvoy()
  const [straightPort, noOpPort] = [await freePort(), await freePort()]
  const to = { host: destination.host, port: destination.port, authority: destination.authority }
  const straight = await runEnvoy(binary, edgeConfig(straightPort, to), straightPort)
  const socket = join(destination.directory, 'processor.sock')
  const processor = spawn(
    process.execPath,
    [fileURLToPath(new URL('no-op-processor.ts', import.meta.url)), socket],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await once(processor.stdout!, 'data')
  const noOp = await runEnvoy(binary, edgeConfig(noOpPort, to, socket), noOpPort)
  const sidevault = await startSidevault({ env: destination.env })
  const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
  const token = await sidevault.call('POST', '/tokens', {
    key,
    body: { type: 'card', data: { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 } },
  })
  const headers = { 'content-type': 'application/json' }
  const body = bodyWith(`{{ ${token.json.id} | json: '$.number' }}`, 1024)
  const store = async (transforms: object): Promise<string> => {
    const response = await sidevault.call('POST', '/proxies', {
      key: sidevault.managementKey,
      body: { name: 'bench', destination_url: destination.url, ...transforms },
    })
    return response.json.key
  }
  const through = (proxyKey: string) =>
    httpRequest('POST', '/proxy/charge', { ...headers, 'svc-api-key': key, 'svc-proxy-key': proxyKey }, body)
  const bare = await store({})
  const edits = await store({ request_transform: { code: EDIT } })
  const signs = await store({
    request_transform: { code: SIGN },
    response_transform: { code: RESPONSE_TRANSFORM },
  })
  // The sandbox's processes start with the first call that needs them.
  await sidevault.call('POST', '/proxy', { key, body: {}, headers: { 'svc-proxy-key': edits } })
  const parts = partsBelow(sidevault.pid)
  const own = { port: sidevault.port, service: sidevault, pids: parts }
  const targets = [
    {
      name: 'a: Envoy',
      port: straightPort,
      request: httpRequest('POST', '/charge', headers, body),
      pids: { envoy: straight.pid },
    },
    {
      name: 'b: Envoy + no-op',
      port: noOpPort,
      request: httpRequest('POST', '/charge', headers, body),
      pids: { envoy: noOp.pid, processor: processor.pid! },
    },
    {
      name: 'c: Sidevault',
      ...own,
      request: httpRequest(
        'POST',
        '/proxy/charge',
        { ...headers, 'svc-api-key': key, 'svc-proxy-url': destination.url },
        body,
      ),
    },
    { name: 'd: stored proxy', ...own, request: through(bare) },
    { name: 'e: d + transform', ...own, request: through(edits) },
    { name: 'f: d + two', ...own, request: through(signs) },
  ]
  const figures: ProxyFigures[] = []
  try {
    for (const { port, request } of targets)
      await warm({ host: '127.0.0.1', port, requests: [request], seconds: options.warmSeconds })
    for (const concurrency of options.concurrencies) {
      const samples = targets.map(() => [] as ProxyFigures[])
      for (let round = 0; round < options.rounds; round++)
        for (const [index, target] of targets.entries()) {
          const { result, used } = await cpuUntilStored(
            'service' in target ? target.service : undefined,
            target.pids,
            () =>
              load({
                host: '127.0.0.1',
                port: target.port,
                requests: [target.request],
                concurrency,
                seconds: options.seconds,
              }),
          )
          const cpu = Object.fromEntries(
            Object.entries(used).map(([name, seconds]) => [name, (seconds / result.requests) * 1000]),
          )
          samples[index]!.push({
            target: target.name,
            concurrency,
            perSecond: result.perSecond,
            p50: result.p50,
            p99: result.p99,
            cpu,
            failures: result.failures,
          })
        }
      for (const runs of samples) {
        const names = Object.keys(runs[0]!.cpu)
        figures.push({
          target: runs[0]!.target,
          concurrency,
          perSecond: median(runs.map((run) => run.perSecond)),
          p50: median(runs.map((run) => run.p50)),
          p99: median(runs.map((run) => run.p99)),
          cpu: Object.fromEntries(names.map((name) => [name, median(runs.map((run) => run.cpu[name] ?? 0))])),
          failures: runs.reduce((sum, run) => sum + run.failures, 0),
        })
      }
    }
    const memory = Object.fromEntries(Object.entries(parts).map(([name, pid]) => [name, residentMiB(pid)]))
    return { figures, memory }
  } finally {
    await sidevault.stop()
    await Promise.all([straight.stop(), noOp.stop(), destination.stop()])
    processor.kill('SIGTERM')
  }
}
