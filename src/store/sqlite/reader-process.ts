/** A process that runs one query at a time, so that the query can be killed. Started by reader.ts. */
import { Worker } from 'node:worker_threads'
import { connect } from './connection.ts'
import { toWire } from './errors.ts'
import type { FromReader, ToReader } from './reader.ts'

process.title = 'sidevault: reader'
const [path = ''] = process.argv.slice(2)
const db = connect(path, { readonly: true })
/** 'disconnect' follows when the parent has exited. */
const send = (message: FromReader): void => void process.send?.(message, undefined, undefined, () => {})

process.on('message', ({ sql, values }: ToReader) => {
  try {
    send({ rows: db.prepare(sql).all(values) })
  } catch (thrown) {
    send({ error: toWire(thrown) })
  }
})
process.on('disconnect', () => process.exit())
// A query may run when the parent is killed; the process reads no messages during it.
const watch = `const { ppid } = process
setInterval(() => process.ppid === ppid || process.kill(process.pid, 'SIGKILL'), 1000)`
new Worker(watch, { eval: true, env: {}, execArgv: [] }).unref()
