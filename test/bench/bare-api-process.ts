/**
 * The least that an API of durable creates and reads can be, as a measure of the machine: Fastify, one table, one
 * writer thread with group commit, `synchronous=FULL`. No keys, no permissions, no sealing, no audit, no validation.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import Fastify from 'fastify'

/** Members of a response as long as Sidevault's. */
const TOKEN = {
  tenant_id: randomUUID(),
  type: 'card',
  containers: ['/pci/high/'],
  privacy: { classification: 'pci', impact_level: 'high', restriction_policy: 'mask' },
  created_by: randomUUID(),
  created_at: '2026-03-01T12:00:00.000+00:00',
  fingerprint_expression: '{{ data.number }}',
  mask: {
    number: '{{ data.number | card_mask }}',
    expiration_month: '{{ data.expiration_month }}',
    expiration_year: '{{ data.expiration_year }}',
  },
}

type Row = readonly [id: string, data: string]

const open = (path: string) => {
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  return db
}

const write = (path: string): void => {
  const db = open(path)
  const insert = db.prepare('INSERT INTO tokens VALUES (?, ?)')
  const insertAll = db.transaction((rows: readonly Row[]) => {
    for (const row of rows) insert.run(row)
  })
  let waiting: Row[] = []
  parentPort?.on('message', (row: Row) => {
    waiting.push(row)
    if (waiting.length > 1) return
    setImmediate(() => {
      const rows = waiting
      waiting = []
      insertAll(rows)
      parentPort?.postMessage(rows.length)
    })
  })
}

const serve = async (socketPath: string, path: string, port: string): Promise<void> => {
  const db = open(path)
  db.exec('CREATE TABLE tokens (id TEXT PRIMARY KEY, data TEXT) WITHOUT ROWID')
  const read = db.prepare('SELECT id, data FROM tokens WHERE id = ?')
  const writer = new Worker(new URL(import.meta.url), { workerData: path })
  const written: (() => void)[] = []
  writer.on('message', (count: number) => {
    for (const done of written.splice(0, count)) done()
  })
  const app = Fastify()
  app.post('/tokens', async (request, reply) => {
    const id = randomUUID()
    const done = new Promise<void>((resolve) => written.push(resolve))
    writer.postMessage([id, JSON.stringify(request.body)])
    await done
    return reply.code(201).send({ id })
  })
  app.get<{ Params: { id: string } }>('/tokens/:id', async ({ params }) => ({
    ...TOKEN,
    ...(read.get(params.id) as object),
  }))
  await app.listen({ path: socketPath })
  const direct = createServer((request, response) => app.routing(request, response))
  direct.listen(Number(port), '127.0.0.1')
  process.stdout.write('ready\n')
}

const [socketPath, database, port] = process.argv.slice(2)
if (!isMainThread) write(workerData)
else if (socketPath && database && port) await serve(socketPath, database, port)
