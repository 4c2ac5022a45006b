/**
 * CPU of the audit records of a call, from the append to rows in SQLite, in process:
 * `node test/bench/audit.ts [calls] [tokens of a call] [calls a second]`.
 */
import { createHmac, createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createIngest } from '../../src/audit/ingest.ts'
import { openJournal } from '../../src/audit/journal.ts'
import type { AuditRecord } from '../../src/audit/types.ts'
import { openStore } from '../../src/store/open.ts'
import { silent } from '../store/kit.ts'

const [calls = 20_000, tokens = 1, rate = 1_000] = process.argv.slice(2).map(Number)
const TURN_MS = 10
/** Tokens that calls use. */
const KNOWN = 100_000

const key = createSecretKey(randomBytes(32))
const mac = (data: string | Buffer) => createHmac('sha256', key).update(data).digest('hex')
const tenant = randomUUID()
const application = randomUUID()
const ids = Array.from({ length: KNOWN }, () => randomUUID())
const common = () => ({
  tenant_id: tenant,
  operation: 'use',
  actor_id: application,
  actor_type: 'application',
  trace_id: randomUUID(),
  created_at: Date.now(),
})
const anyToken = () => Math.floor(Math.random() * KNOWN)

const directory = mkdtempSync(join(tmpdir(), 'sidevault-bench-'))
const journals = join(directory, 'audit')
mkdirSync(journals)
const store = await openStore({ location: join(directory, 'vault.db'), mode: 'read-write', log: silent })
const journal = await openJournal({ mac, log: silent }, { directory: journals, name: 'gateway-1' })

/** The records of one call, as the gateway appends them. */
const call = async () => {
  const shared = common()
  const record = (entity_type: string, entity_id: string, message: string): AuditRecord => ({
    ...shared,
    entity_type,
    entity_id,
    message,
  })
  const used = Array.from({ length: tokens }, anyToken).map((seq) => ({
    ...record('card', ids[seq]!, 'Card used'),
    token_seq: seq,
    disclosure: 'reveal' as const,
  }))
  await Promise.all([journal.append([record('proxy', application, 'Proxy used')]), journal.append(used)])
}

const measure = async (title: string, work: () => Promise<unknown>): Promise<void> => {
  const from = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(from)
  process.stdout.write(
    `${title.padEnd(40)} ${((user + system) / calls).toFixed(1).padStart(8)} CPU-µs a call\n`,
  )
}

/** `rate` calls a second until all are appended. */
const paced = async () => {
  const began = performance.now()
  for (let done = 0; done < calls; ) {
    const due = Math.min(calls, Math.ceil(((performance.now() - began) / 1000) * rate))
    await Promise.all(Array.from({ length: due - done }, call))
    done = due
    await delay(TURN_MS)
  }
}

const ingest = createIngest({ logs: store.logs, mac, log: silent }, { directory: journals })
try {
  await measure('appended, no ingest', paced)
  await measure('ingested at once afterwards', () => ingest.catchUp())
  ingest.start()
  await measure('appended and ingested concurrently', async () => {
    await paced()
    await ingest.catchUp()
  })
  await ingest.stop()
} finally {
  await journal.close()
  await store.close()
  rmSync(directory, { recursive: true })
}
