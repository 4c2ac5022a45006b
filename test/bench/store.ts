/** Rates of the store alone, in process: `node test/bench/store.ts [tokens stored first]`. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStore } from '../../src/store/open.ts'
import { aToken, NOW, silent } from '../store/kit.ts'
import { fillLogs, TENANT } from '../store/sqlite/filled.ts'
import { tracedStore } from '../store/sqlite/kit.ts'

/** One in 25 is of the entity `busy`. */
const LOGS = 1_000_000

const print = (line: string) => process.stdout.write(`${line}\n`)

const timed = async (name: string, operations: number, work: () => Promise<unknown>) => {
  const cpu = process.cpuUsage()
  const start = process.hrtime.bigint()
  await work()
  const ms = Number(process.hrtime.bigint() - start) / 1e6
  const { user, system } = process.cpuUsage(cpu)
  print(
    `${name.padEnd(44)} ${Math.round((operations / ms) * 1000)
      .toLocaleString('en')
      .padStart(
        10,
      )}/s ${((ms / operations) * 1000).toFixed(1).padStart(8)} µs ${((user + system) / operations).toFixed(1).padStart(7)} CPU-µs`,
  )
}

const concurrently = (workers: number, operations: number, work: () => Promise<unknown>) =>
  Promise.all(
    Array.from({ length: workers }, async () => {
      for (let done = 0; done < operations / workers; done++) await work()
    }),
  )

const stored = Number(process.argv[2] ?? 20_000)
const directory = mkdtempSync(join(tmpdir(), 'sidevault-bench-'))
const store = await openStore({ location: join(directory, 'bench.db'), mode: 'read-write', log: silent })
try {
  const card = () =>
    aToken({
      // Not in the format of seals: such would name a key.
      ephemeral: Buffer.concat([Buffer.of(0), randomBytes(39)]),
      ephemeral_until: NOW + 3_600_000,
      fingerprint: randomBytes(16).toString('hex'),
    })
  const rich = () =>
    aToken({
      ...card(),
      metadata: { color: 'red', order: '42' },
      terms: [randomBytes(16)],
      deduplicate: true,
    })
  const ids: string[] = []
  const create = async (make = card) => {
    const token = make()
    await store.tokens.create([token], NOW)
    ids.push(token.id)
  }
  const bulk = async () => {
    const tokens = Array.from({ length: 100 }, card)
    await store.tokens.create(tokens, NOW)
    ids.push(...tokens.map(({ id }) => id))
  }
  await timed(`bulk creates of 100, 4 at once (per token)`, stored, () => concurrently(4, stored / 100, bulk))
  for (const workers of [1, 8, 32])
    await timed(`single durable creates, ${workers} at once`, workers * 1_000, () =>
      concurrently(workers, workers * 1_000, () => create()),
    )
  await timed('the same, deduplicated, indexed, with metadata, 32', 16_000, () =>
    concurrently(32, 16_000, () => create(rich)),
  )
  const own = tracedStore(join(directory, 'own.db'))
  own.db.pragma('synchronous = OFF')
  await timed('the same on this thread, one by one, not synced', 20_000, async () => {
    for (let done = 0; done < 20_000; done++) await own.store.tokens.create([rich()], NOW)
  })
  const statements = own.applied().filter((sql) => !/^(begin|commit|savepoint|release)/i.test(sql)).length
  print(`statements of one of these: ${(statements / 20_000).toFixed(1)}`)
  fillLogs(own.db, LOGS)
  for (const entityId of ['e-77', 'busy'])
    await timed(
      `lists of 20 logs of entity ${entityId}, of ${LOGS.toLocaleString('en')} logs`,
      200,
      async () => {
        for (let i = 0; i < 200; i++) await own.store.logs.list({ tenantId: TENANT, entityId, size: 20 })
      },
    )
  await own.store.close()
  const any = () => ids[Math.floor(Math.random() * ids.length)] as string
  for (const batch of [1, 10, 100, 1_000]) {
    const rounds = Math.ceil(20_000 / batch)
    await timed(`reads by ${batch} ids (per token)`, rounds * batch, async () => {
      for (let round = 0; round < rounds; round++)
        await store.tokens.read('tenant-a', Array.from({ length: batch }, any), NOW)
    })
  }
  const shape = { name: 'applications', indexes: ['type'], lookups: ['hash'] }
  const record = { id: 'a', name: 'A', type: 'private', hash: 'h'.repeat(64) }
  await store.records.commit(
    [{ kind: 'insert', collection: 'applications', tenantId: 'tenant-a', id: 'a', record, shape }],
    NOW,
  )
  const names = Object.freeze(['applications', 'application_keys', 'sessions'])
  await timed('records.lookup', 20_000, async () => {
    for (let i = 0; i < 20_000; i++) await store.records.lookup('applications', 'hash', record.hash)
  })
  await timed('records.changes of 3', 20_000, async () => {
    for (let i = 0; i < 20_000; i++) await store.records.changes(names)
  })
  const list = { tenantId: 'tenant-a', now: NOW, size: 20 }
  await timed('lists of 20, all visible', 2_000, async () => {
    for (let i = 0; i < 2_000; i++) await store.tokens.list({ ...list, visibility: 'all' })
  })
  await timed('lists of 20, one container visible', 2_000, async () => {
    for (let i = 0; i < 2_000; i++)
      await store.tokens.list({
        ...list,
        visibility: [[{ attribute: 'container', operator: 'starts_with', value: '/pci/' }]],
      })
  })
  await timed('counts', 2_000, async () => {
    for (let i = 0; i < 2_000; i++) await store.tokens.count({ ...list, visibility: 'all' })
  })
} finally {
  await store.close()
  rmSync(directory, { recursive: true })
}
