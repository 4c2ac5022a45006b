import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { commandNamed } from '../commands.ts'
import { createBackgroundCheckpoints } from './checkpoint-thread.ts'
import { connect } from './connection.ts'
import { createGroupCommit } from './group-commit.ts'
import type { FromWorker, Job, ToWorker, WorkerOptions } from './protocol.ts'
import { createWalCheckpointer } from './wal-checkpoint.ts'

/** Writer thread: the only writer of its process. Started by writer.ts. */

const port = parentPort
if (port === null) throw new Error('worker.ts runs as a worker thread only')

const options = workerData as WorkerOptions
const db = connect(options.path, { readonly: false })
/** Jobs that were sent while others run; nothing else is sent then. */
const arrived = (): readonly Job[] => {
  const message: ToWorker | undefined = receiveMessageOnPort(port)?.message
  return message?.kind === 'jobs' ? message.jobs : []
}
const groupCommit = createGroupCommit(db, arrived)
const background = createBackgroundCheckpoints(db, options)
const checkpointer = createWalCheckpointer(db)

const post = (message: FromWorker): void => port.postMessage(message)

const handle = async (message: ToWorker): Promise<void> => {
  if (message.kind === 'close') {
    await background.close()
    checkpointer.finish()
    db.close()
    port.close()
    return
  }
  const jobs = [...message.jobs]
  const results = await groupCommit(jobs)
  if (jobs.some(({ command }) => commandNamed(command).destroysKeys)) checkpointer.truncate()
  post({ kind: 'results', results })
  background.committed()
}

let last = Promise.resolve()
port.on('message', (message: ToWorker) => {
  last = last.then(() => handle(message))
})

post({ kind: 'ready' })
// A killed process may have left the WAL untruncated.
checkpointer.truncate()
