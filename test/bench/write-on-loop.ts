/**
 * Creates by the writer thread beside the same on the event loop, whose groups are synced by one `fdatasync` of the log
 * file before they are acknowledged: `node test/bench/write-on-loop.ts [rounds]`. What is compared is cost; the second
 * is no store: nothing of it handles checkpoints, a full disk or a failed sync.
 */
import { fdatasync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { openStore } from '../../src/store/open.ts'
import { connect } from '../../src/store/sqlite/connection.ts'
import { createGroupCommit } from '../../src/store/sqlite/group-commit.ts'
import type { Job, Result } from '../../src/store/sqlite/protocol.ts'
import { createSqliteSession } from '../../src/store/sqlite/session.ts'
import type { Store } from '../../src/store/store.ts'
import { createStore } from '../../src/store/store.ts'
import type { Writer } from '../../src/store/writer.ts'
import { aToken, NOW, silent } from '../store/kit.ts'
import { median } from './against.ts'
import { table } from './report.ts'

const rounds = Number(process.argv[2] ?? 7)
const sync = promisify(fdatasync)
const directory = mkdtempSync(join(tmpdir(), 'sidevault-bench-'))

/** A store whose writes are committed on this thread, all that wait as one group. */
const openOnLoop = async (path: string): Promise<Store> => {
  await (await openStore({ location: path, mode: 'read-write', log: silent })).close()
  const db = connect(path, { readonly: false })
  db.pragma('synchronous = NORMAL')
  const commit = createGroupCommit(db)
  db.exec('create table if not exists opened (x)') // the log file exists from here on
  const log = openSync(`${path}-wal`, 'r+')
  let waiting: { readonly job: Job; readonly done: (result: Result) => void }[] = []
  let running = false
  const run = async () => {
    running = true
    while (waiting.length > 0) {
      const group = waiting
      waiting = []
      const results = await commit(group.map(({ job }) => job))
      await sync(log)
      for (const [at, { done }] of group.entries()) done(results[at] as Result)
    }
    running = false
  }
  const writer: Writer = {
    write: (command, args, _bytes, lease) =>
      new Promise((resolve, reject) => {
        const done = (result: Result) =>
          result.ok ? resolve(result.value as never) : reject(new Error('failed'))
        waiting.push({ job: { number: 1, command: command.name, args, lease }, done })
        if (!running) setImmediate(run)
        running = true
      }),
    close: async () => {},
  }
  return createStore(
    { session: createSqliteSession(db), writer },
    { writable: true, close: async () => void db.close() },
  )
}

const measure = async (store: Store, workers: number) => {
  const calls = workers * 250
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const cpu = process.cpuUsage()
  const start = performance.now()
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (let done = 0; done < calls / workers; done++) await store.tokens.create([aToken()], NOW)
    }),
  )
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  delay.disable()
  return { cpu: (user + system) / calls, rate: calls / seconds, delay: delay.percentile(99) / 1e6 }
}

try {
  const thread = await openStore({ location: join(directory, 'thread.db'), mode: 'read-write', log: silent })
  const loop = await openOnLoop(join(directory, 'loop.db'))
  const stores = [thread, loop]
  for (const store of stores) await measure(store, 32)
  const rows: (string | number)[][] = []
  for (const workers of [1, 8, 32]) {
    const samples = stores.map(() => [] as Awaited<ReturnType<typeof measure>>[])
    for (let round = 0; round < rounds; round++)
      for (const [at, store] of stores.entries()) samples[at]?.push(await measure(store, workers))
    for (const [at, name] of ['writer thread', 'on the loop'].entries()) {
      const medianOf = (member: 'cpu' | 'rate' | 'delay') =>
        median((samples[at] ?? []).map((sample) => sample[member]))
      rows.push([
        workers,
        name,
        medianOf('cpu').toFixed(0),
        medianOf('rate').toFixed(0),
        medianOf('delay').toFixed(1),
      ])
    }
  }
  const columns = ['creates at once', 'commits', 'CPU µs a create', 'creates/s', 'event loop, p99 ms']
  process.stdout.write(`${table(columns, rows)}\n`)
  for (const store of stores) await store.close()
} finally {
  rmSync(directory, { recursive: true, force: true })
}
