import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { DEMO_HOST } from '../../src/supervisor/demo-certificate.ts'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { checkout, median } from './against.ts'
import { partsBelow } from './processes.ts'
import { table } from './report.ts'

interface FirstOptions {
  /** A commit to take turns with. */
  readonly against: string | undefined
  readonly starts: number
}

/** Calls behind the first one, and ms between two. */
const LATER = 20
const EVERY_MS = 50
/** Calls of each kind behind the last start, for the time of a call at this pace. */
const SPARSE = 200

interface Call {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const KINDS = ['proxied call', 'read'] as const
type Kind = (typeof KINDS)[number]

/** Of one call, ms. CPU: of the main threads of gateway and admin process, which hardly depends on other work. */
interface Figures {
  readonly wall: number
  readonly cpu: number
}

type OfKinds = Readonly<Record<Kind, Figures>>

/** Figures of one start. */
interface Start {
  readonly ready: number
  readonly first: OfKinds
  readonly later: OfKinds
}

interface Version {
  readonly name: string
  readonly project: string
  readonly dataDir: string
  readonly calls: Readonly<Record<Kind, Call>>
  readonly starts: Start[]
  sparse: OfKinds | undefined
}

/** ms of a call on a connection of its own, as curl makes it. */
const timed = ({ port }: Sidevault, { method, path, headers, body }: Call): Promise<number> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const length = String(Buffer.byteLength(body))
    const sent = request({
      port,
      method,
      path,
      agent: false,
      headers: { ...headers, 'content-length': length },
    })
    sent.on('response', (response) => {
      response.resume()
      response.on('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - began)
        else reject(new Error(`${method} ${path}: ${response.statusCode}`))
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })

/** CPU ms of the main threads of gateway and admin process. */
const cpuOf = ({ pid }: Sidevault): number => {
  const { admin = 0, gateway = 0 } = partsBelow(pid)
  const own = (pid: number) => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  return own(admin) + own(gateway)
}

/** Medians of calls at the pace of the bench. */
const series = async (service: Sidevault, call: Call, count: number): Promise<Figures> => {
  const figures: Figures[] = []
  for (let i = 0; i < count; i++) {
    if (count > 1) await setTimeout(EVERY_MS)
    const before = cpuOf(service)
    const wall = await timed(service, call)
    figures.push({ wall, cpu: cpuOf(service) - before })
  }
  return { wall: median(figures.map(({ wall }) => wall)), cpu: median(figures.map(({ cpu }) => cpu)) }
}

/** A data directory with a token, made by a start of its own. */
const prepare = async (name: string, project: string): Promise<Version> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sidevault-first-'))
  const service = await startSidevault({ project, dataDir })
  const key = await service.application({ permissions: ['token:create', 'token:read', 'token:use'] })
  const data = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 }
  const { id } = (await service.call('POST', '/tokens', { key, body: { type: 'card', data } })).json
  await service.stop()
  const headers = { 'svc-api-key': key, 'content-type': 'application/json' }
  return {
    name,
    project,
    dataDir,
    starts: [],
    sparse: undefined,
    calls: {
      'proxied call': {
        method: 'POST',
        path: '/proxy',
        headers: { ...headers, 'svc-proxy-url': `https://${DEMO_HOST}/pay` },
        body: `{"card":"{{ ${id} | json: '$.number' }}"}`,
      },
      read: { method: 'GET', path: `/tokens/${id}`, headers, body: '' },
    },
  }
}

const each = async (work: (kind: Kind) => Promise<Figures>): Promise<OfKinds> => ({
  'proxied call': await work('proxied call'),
  read: await work('read'),
})

const measure = async ({ project, dataDir, calls }: Version, isLast: boolean) => {
  const began = performance.now()
  const service = await startSidevault({ project, dataDir })
  const ready = performance.now() - began
  const first = await each((kind) => series(service, calls[kind], 1))
  const later = await each((kind) => series(service, calls[kind], LATER))
  const sparse = isLast ? await each((kind) => series(service, calls[kind], SPARSE)) : undefined
  await service.stop()
  return { start: { ready, first, later }, sparse }
}

const spread = (values: readonly number[], digits: number): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`

/**
 * A table of the first proxied call (to the demo destination) and the first read after `/readyz` is 200, beside the
 * median of 20 more at 20 a second: ms and CPU ms, medians over all starts with extremes.
 */
export const benchFirst = async ({ against, starts }: FirstOptions): Promise<string> => {
  const other = against === undefined ? undefined : checkout(against)
  const versions = [
    await prepare('this version', root),
    ...(other === undefined ? [] : [await prepare(other.sha, other.folder)]),
  ]
  try {
    for (let round = 0; round <= starts; round++)
      for (const version of versions) {
        const { start, sparse } = await measure(version, round === starts)
        // The first one warms this process and the system's caches of files.
        if (round > 0) version.starts.push(start)
        version.sparse ??= sparse
      }
  } finally {
    for (const { dataDir } of versions) rmSync(dataDir, { recursive: true, force: true })
    other?.remove()
  }
  const rows = KINDS.flatMap((kind) =>
    versions.map(({ name, starts, sparse }) => {
      const of = (figure: keyof Figures) => [
        ...(['first', 'later'] as const).map((which) =>
          spread(
            starts.map((start) => start[which][kind][figure]),
            1,
          ),
        ),
        spread(
          starts.map(({ first, later }) => first[kind][figure] / later[kind][figure]),
          1,
        ),
      ]
      return [kind, name, ...of('wall'), ...of('cpu'), (sparse?.[kind].wall ?? Number.NaN).toFixed(2)]
    }),
  )
  return [
    table(
      [
        'call',
        'version',
        'first, ms',
        'later',
        'ratio',
        'first, CPU ms',
        'later',
        'ratio',
        `p50 at ${1000 / EVERY_MS} a second, ms`,
      ],
      rows,
    ),
    '',
    table(
      ['version', 's from start to ready'],
      versions.map(({ name, starts }) => [
        name,
        spread(
          starts.map(({ ready }) => ready / 1000),
          2,
        ),
      ]),
    ),
  ].join('\n')
}
