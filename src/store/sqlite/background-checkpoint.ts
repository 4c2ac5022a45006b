import { parentPort, workerData } from 'node:worker_threads'
import { connect } from './connection.ts'
import type { WorkerOptions } from './protocol.ts'

/**
 * Checkpoint thread: copies the write-ahead log into the database file while the writer thread writes on. Started by
 * worker.ts, whose own checkpoint finds little left to copy, and then starts the log from its beginning.
 */

const port = parentPort
if (port === null) throw new Error('background-checkpoint.ts runs as a worker thread only')

const db = connect((workerData as WorkerOptions).path, { readonly: false })

port.on('message', (message: 'checkpoint' | 'close') => {
  if (message === 'close') {
    db.close()
    port.close()
    return
  }
  try {
    db.pragma('wal_checkpoint(PASSIVE)')
  } catch {
    // The disk is full, or fails: the writer's own checkpoint reports that to its caller.
  }
  port.postMessage('done')
})
