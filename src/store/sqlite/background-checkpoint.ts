import { parentPort, workerData } from 'node:worker_threads'
import { connect } from './connection.ts'
import type { WorkerOptions } from './protocol.ts'

/**
 * Checkpoint thread: copies the write-ahead log into the database file while the writer thread writes on. Started by
 * checkpoint-thread.ts, which gets the number of frames of the log after each checkpoint.
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
  let frames = 0
  try {
    const [result] = db.pragma('wal_checkpoint(PASSIVE)') as [{ log: number }]
    frames = result.log
  } catch {
    // The disk is full, or fails: the writer's own checkpoint reports that to its caller.
  }
  port.postMessage(frames)
})
