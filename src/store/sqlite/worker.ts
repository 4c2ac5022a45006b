import { parentPort, workerData } from 'node:worker_threads'
import { connect } from './connection.ts'
import { createLogEmptier } from './empty-log.ts'
import { createGroupCommit } from './group-commit.ts'
import type { FromWorker, Job, ToWorker, WorkerOptions } from './protocol.ts'

/** The writer thread: the only one of its process that writes. Started by writer.ts. */

/** Jobs that share a commit, at most: the first of them waits for the last. */
const MAX_GROUP = 512

const port = parentPort
if (port === null) throw new Error('worker.ts runs as a worker thread only')

const db = connect((workerData as WorkerOptions).path, { readonly: false })
const groupCommit = createGroupCommit(db)
const emptier = createLogEmptier(db)
const queue: Job[] = []
let closing = false
let running = false

const post = (message: FromWorker): void => port.postMessage(message)

/** Messages that arrive while a commit waits for the disk make up the next group. */
const work = async (): Promise<void> => {
  const group = queue.splice(0, MAX_GROUP)
  if (group.length > 0) {
    const answers = await groupCommit(group)
    if (group.some(({ command }) => command === 'tenants.delete')) emptier.empty()
    post({ kind: 'answers', answers })
  }
  if (queue.length > 0) {
    setImmediate(work)
    return
  }
  running = false
  if (closing) {
    emptier.stop()
    db.close()
    port.close()
  }
}

port.on('message', (message: ToWorker) => {
  if (message.kind === 'jobs') queue.push(...message.jobs)
  else closing = true
  if (running) return
  running = true
  setImmediate(work)
})

post({ kind: 'ready' })
// A process that was killed may have left the log as it was.
emptier.empty()
