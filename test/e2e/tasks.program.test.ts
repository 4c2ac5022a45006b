/** Consumers and jobs of a plugin from outside, in programs whose processes are killed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { postgresMissing, queryPostgres } from '../kit/postgres.ts'
import { noRedis } from '../kit/redis.ts'
import { startReplicas } from '../kit/replicas.ts'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { descendants, until } from '../supervisor/processes.ts'

/** Notes what it gets, and waits while the file `hold` is there. */
const WITNESS = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
export const plugin = {
  api: 1,
  name: 'witness',
  version: '1.0.0',
  setup: () => {
    const note = (what, ...rest) => appendFileSync('FOLDER/lines', [what, process.pid, ...rest].join(' ') + '\\n')
    return {
      consumers: [
        {
          name: 'rows',
          from: 'start',
          handle: async (records) => {
            const positions = records.map(({ position }) => position)
            note('got', ...positions)
            while (existsSync('FOLDER/hold')) await setTimeout(10)
            note('handled', ...positions)
          },
        },
      ],
      jobs: [
        {
          name: 'tick',
          every: 10,
          run: async () => {
            note('start')
            await setTimeout(100)
            note('end')
          },
        },
      ],
    }
  },
}
`

interface Line {
  readonly what: string
  readonly pid: number
  readonly positions: readonly number[]
}

/** The plugin with its environment, and what it notes. */
const witness = (t: Test) => {
  const folder = mkdtempSync(join(tmpdir(), 'sidevault-tasks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const files = { 'package.json': '{"type":"module"}', 'index.js': WITNESS.replaceAll('FOLDER', folder) }
  for (const [name, text] of Object.entries({ ...files, lines: '', hold: '' }))
    writeFileSync(join(folder, name), text)
  const lines = (...wanted: readonly string[]): readonly Line[] =>
    readFileSync(join(folder, 'lines'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' '))
      .map(([what = '', pid, ...positions]) => ({ what, pid: Number(pid), positions: positions.map(Number) }))
      .filter(({ what }) => wanted.includes(what))
  return {
    env: { SIDEVAULT_PLUGINS: `*,${folder}` },
    lines,
    positions: (what: string) => lines(what).flatMap(({ positions }) => positions),
    release: () => rmSync(join(folder, 'hold'), { force: true }),
  }
}

const adminOf = (sidevault: Sidevault): number =>
  descendants(sidevault.pid).find(({ command }) => command.includes('sidevault: admin'))?.pid ?? 0

const componentsOf = async (sidevault: Sidevault) =>
  (await sidevault.call('GET', '/readyz')).json?.components.filter(({ name }: { name: string }) =>
    name.includes(':witness/'),
  )

t.test('records of a batch whose process is killed are delivered again, and none is skipped', async (t) => {
  const { env, lines, positions, release } = witness(t)
  const sidevault = await startSidevault({ env, dataDir: t.testdir() })
  t.teardown(() => sidevault.stop())
  await sidevault.application({ permissions: ['token:read'] })
  await until('a batch is held', () => lines('got').length > 0)
  const before = adminOf(sidevault)
  process.kill(before, 'SIGKILL')
  release()
  await until('the next process', () => ![0, before].includes(adminOf(sidevault)))
  await until('it responds', async () => (await sidevault.call('GET', '/readyz')).status === 200)
  await sidevault.application({ permissions: ['token:read'] })
  const db = new Database(join(sidevault.dataDir, 'sidevault.db'), { readonly: true })
  t.teardown(() => db.close())
  const rows = () => db.prepare('select seq from logs order by seq').pluck().all() as number[]
  const handled = () => [...new Set(positions('handled'))]
  await until('two applications are in the log', () => rows().length >= 2)
  await until('all are handled', () => rows().length === handled().length)
  t.strictSame(handled(), rows(), 'in order')
  const again = lines('got').filter(({ positions: [first] }) => first === rows()[0])
  t.equal(again.length, 2, 'the first batch came twice')
  t.equal(new Set(lines('handled').map(({ pid }) => pid)).size, 1, 'the killed process handled nothing')
  await until('the job has run', () => lines('end').length > 0)
  t.match(await componentsOf(sidevault), [
    { name: 'consumer:witness/rows', status: 'ok', outcome: 'ok', lag_seconds: Number },
    { name: 'job:witness/tick', last_run: String },
  ])
  const metrics = (await sidevault.call('GET', '/metrics')).text
  t.match(metrics, /^sidevault_consumer_lag_seconds\{consumer="witness\/rows"\} 0$/m)
})

const skip = postgresMissing({ own: true }) || (await noRedis())

t.test(
  'of two replicas one has the consumer; the other one takes over when it is killed',
  { skip },
  async (t) => {
    const { env, lines, positions, release } = witness(t)
    release()
    const { all, postgres, env: shared } = await startReplicas(t, [{}, {}], env)
    const rows = async () => {
      // Of the superuser: the owner meets no row of a tenant that it does not name.
      const admin = new URL(postgres.admin)
      admin.pathname = new URL(String(shared.SIDEVAULT_STORE)).pathname
      const logs = await queryPostgres<{ seq: number }>(admin.href, 'select seq from logs order by seq')
      return logs.map(({ seq }) => Number(seq))
    }
    const allHandled = async () => {
      const handled = new Set(positions('handled'))
      return (await rows()).every((seq) => handled.has(seq))
    }
    for (const replica of all) await replica.application({ permissions: ['token:use'] })
    const key = await all[0]!.application({ permissions: ['token:use'] })
    await until('all are handled', async () => (await rows()).length >= 3 && (await allHandled()))
    const holders = new Set(lines('got').map(({ pid }) => pid))
    t.equal(holders.size, 1)
    const [holder = 0] = holders
    const first = all.find((replica) => adminOf(replica) === holder)!
    const second = all.find((replica) => replica !== first)!

    // A gateway writes records that its admin process does not ingest any more.
    process.kill(holder, 'SIGSTOP')
    await first.call('POST', '/proxy', {
      key,
      body: {},
      headers: { 'svc-proxy-url': 'https://nowhere.invalid/' },
    })
    const below = descendants(first.pid).map(({ pid }) => pid)
    await first.kill()
    for (const pid of below)
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // it has ended with the supervisor
      }
    await second.application({ permissions: ['token:use'] })
    t.equal(new Set(lines('got').map(({ pid }) => pid)).size, 1, 'not before the lease ends')
    await queryPostgres(String(shared.SIDEVAULT_STORE), 'update plugin_tasks set leased_until = 0')
    await until('the other one has the consumer', () => lines('handled').at(-1)?.pid === adminOf(second))
    await until('all are handled', allHandled)
    const newer = (await rows()).length
    await until('the job runs in the other process', () => lines('end').at(-1)?.pid === adminOf(second))
    const restarted = await startSidevault({ dataDir: first.dataDir, env: shared })
    t.teardown(() => restarted.stop())
    await until('older records arrive late', async () => (await rows()).length > newer)
    await until('they are handled, too', allHandled)
    t.equal(lines('handled').at(-1)?.pid, adminOf(second), 'by the same process')

    const runs = lines('start', 'end').filter(({ pid }) => pid !== holder)
    t.ok(
      runs.every(
        ({ what, pid }, at) =>
          what === 'start' || (runs[at - 1]?.what === 'start' && runs[at - 1]?.pid === pid),
      ),
      'a run of the job ends before another one starts',
    )
    for (const replica of [second, restarted])
      t.match(await componentsOf(replica), [
        { name: 'consumer:witness/rows', outcome: 'ok' },
        { outcome: String },
      ])
  },
)
