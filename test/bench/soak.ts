/**
 * A moderate mixed load for a long time: `node test/bench/soak.ts [--minutes 30] [--rate 60]`, with ENVOY_BIN set. Each
 * second it creates, reads, updates, lists, searches and deletes tokens, calls a destination through ephemeral and
 * stored proxies, one of them with a transform. Samples memory and handles of every process, and files; once a minute
 * also what admin and gateway hold when their garbage is collected, since V8 leaves that lying at such a load: memory
 * that is not held in the end is no growth. Prints the second half's trends. Exit code 1: something grows.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ALL_TOKEN_PERMISSIONS, type Response, startSidevault } from '../kit/sidevault.ts'
import { INSPECTABLE, inspect } from './collected.ts'
import { anonymousMiB } from './cpu.ts'
import { startDestination } from './destination.ts'
import { partsBelow } from './processes.ts'
import { table } from './report.ts'

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, rate: { type: 'string', default: '60' } },
})
const minutes = Number(options.minutes)
const rate = Number(options.rate)
/** A process whose memory grows by more than this in an hour, of its size, is said to grow. */
const GROWTH_AN_HOUR = 0.1
/** Growth below this in an hour is noise: handles, or MiB. */
const LEAST = { held: 2, memory: 8, handles: 3 }
/** So many tokens live at a time: what is created is deleted again. */
const ALIVE = 500

interface Sample {
  readonly minute: number
  readonly memory: Readonly<Record<string, number>>
  /** MiB of V8's heap and beside it after a collection; in one sample of a minute only. */
  readonly held: Readonly<Record<string, number>>
  readonly handles: Readonly<Record<string, number>>
  readonly files: Readonly<Record<string, number>>
}

const handlesOf = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

const mebibytes = (path: string): number => {
  try {
    return statSync(path).size / 2 ** 20
  } catch {
    return 0
  }
}

/** How much a line through the points rises a minute (least squares). */
const slope = (points: readonly (readonly [number, number])[]): number => {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const x = mean(points.map(([at]) => at))
  const y = mean(points.map(([, value]) => value))
  const over = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0)
  const under = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0)
  return under === 0 ? 0 : over / under
}

const destination = await startDestination()
const sidevault = await startSidevault({ env: { ...destination.env, ...INSPECTABLE } })
try {
  const key = await sidevault.application({ permissions: ALL_TOKEN_PERMISSIONS })
  const store = async (transforms: object): Promise<string> => {
    const body = { name: 'soak', destination_url: destination.url, ...transforms }
    return (await sidevault.call('POST', '/proxies', { key: sidevault.managementKey, body })).json.key
  }
  const plain = await store({})
  const edits = await store({
    request_transform: {
      code: 'module.exports = async ({ args: { body, headers } }) => ({ body: { pan: body.card }, headers })',
    },
  })
  const ids: string[] = []
  let turn = 0
  /** A token of the newer half: the oldest may be deleted at any time. */
  const pick = () => ids[(ids.length >> 1) + (turn % Math.ceil(ids.length / 2))] as string
  const card = () => ({ card: `{{ ${pick()} | json: '$.number' }}` })
  const through = (headers: Record<string, string>) =>
    sidevault.call('POST', '/proxy/charge', { key, body: card(), headers })
  const calls: (() => Promise<Response>)[] = [
    async () => {
      const data = { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 }
      const body = {
        type: 'card',
        data,
        search_indexes: ['{{ data.number }}'],
        metadata: { turn: `${turn}` },
      }
      const response = await sidevault.call('POST', '/tokens', { key, body })
      ids.push(response.json.id)
      if (ids.length <= ALIVE) return response
      return sidevault.call('DELETE', `/tokens/${ids.shift()}`, { key })
    },
    () => sidevault.call('GET', `/tokens/${pick()}`, { key }),
    () => sidevault.call('PATCH', `/tokens/${pick()}`, { key, body: { metadata: { turn: `${turn}` } } }),
    () => sidevault.call('GET', '/v2/tokens?size=20', { key }),
    () => sidevault.call('POST', '/v2/tokens/search', { key, body: { query: `metadata.turn:${turn - 3}` } }),
    () => through({ 'svc-proxy-url': destination.url }),
    () => through({ 'svc-proxy-key': plain }),
    () => through({ 'svc-proxy-key': edits }),
  ]
  await calls[0]!()
  const failures = new Map<string, number>()
  const samples: Sample[] = []
  const { admin = 0, gateway = 0 } = partsBelow(sidevault.pid)
  const inspected = { admin: await inspect(admin), gateway: await inspect(gateway) }
  const sample = async (minute: number) => {
    const parts = Object.entries(partsBelow(sidevault.pid))
    const held: Record<string, number> = {}
    if (samples.length % 4 === 0)
      for (const [name, collected] of Object.entries(inspected)) {
        const { used, external } = await collected()
        held[name] = used + external
      }
    const file = (name: string) => mebibytes(join(sidevault.dataDir, name))
    const audit = readdirSync(join(sidevault.dataDir, 'audit')).map((name) => file(join('audit', name)))
    samples.push({
      minute,
      held,
      memory: Object.fromEntries(parts.map(([name, pid]) => [name, anonymousMiB(pid)])),
      handles: Object.fromEntries(parts.map(([name, pid]) => [name, handlesOf(pid)])),
      files: {
        database: file('sidevault.db'),
        'write-ahead log': file('sidevault.db-wal'),
        journals: audit.reduce((sum, size) => sum + size, 0),
      },
    })
  }
  const started = performance.now()
  const ends = started + minutes * 60_000
  const lane = async (lanes: number) => {
    for (let due = performance.now(); due < ends; due += (lanes * 1000) / rate) {
      await delay(Math.max(0, due - performance.now()))
      const kind = turn++ % calls.length
      const name = await calls[kind]!().then(
        ({ status }) => (status >= 400 ? `call ${kind}: ${status}` : undefined),
        (thrown) => `call ${kind}: ${thrown}`,
      )
      if (name !== undefined) failures.set(name, (failures.get(name) ?? 0) + 1)
    }
  }
  const watch = async () => {
    for (let next = started; next < ends; next += Math.min(15_000, minutes * 2_000)) {
      await delay(Math.max(0, next - performance.now()))
      await sample((performance.now() - started) / 60_000)
    }
  }
  await Promise.all([watch(), ...Array.from({ length: 8 }, () => lane(8))])

  const second = samples.filter(({ minute }) => minute >= minutes / 2)
  const rows: string[][] = []
  let grows = false
  for (const what of ['held', 'memory', 'handles'] as const)
    for (const name of Object.keys(
      second.findLast((sample) => Object.keys(sample[what]).length > 0)![what],
    )) {
      const points = second.flatMap((sample) =>
        name in sample[what] ? [[sample.minute, sample[what][name]!] as const] : [],
      )
      const last = points.at(-1)?.[1] ?? 0
      const anHour = slope(points) * 60
      const too = anHour > Math.max(last * GROWTH_AN_HOUR, LEAST[what])
      grows ||= too
      rows.push([what, name, last.toFixed(what === 'handles' ? 0 : 1), anHour.toFixed(1), too ? 'GROWS' : ''])
    }
  process.stdout.write(`${turn.toLocaleString('en')} calls in ${minutes} minutes\n\n`)
  process.stdout.write(`${table(['', 'process', 'at the end', 'an hour', ''], rows)}\n\n`)
  process.stdout.write(`files in MiB at the end: ${JSON.stringify(samples.at(-1)!.files)}\n`)
  process.stdout.write(`failures: ${JSON.stringify(Object.fromEntries(failures))}\n`)
  if (grows || failures.size > 0) process.exitCode = 1
} finally {
  await sidevault.stop()
  await destination.stop()
}
