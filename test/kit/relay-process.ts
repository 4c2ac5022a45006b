/**
 * A relay as a process of its own that stops in a response. Arguments: the folder of its socket, the signal that it
 * sends itself, and where each of its responses waits for it (relay.ts, `failing`); it stops when all of them wait.
 */
import { join } from 'node:path'
import { failing, type IssuePlace, startRelay } from './relay.ts'

const [directory = '', signal, ...places] = process.argv.slice(2)
const relay = await startRelay(join(directory, 'gateway.sock'))
const left = [...places] as IssuePlace[]
let waiting = 0
const stop = async () => {
  if (++waiting === places.length) process.kill(process.pid, signal)
  await new Promise(() => {})
}
relay.respond = (...response) => failing(left.shift() ?? 'headers', stop)(...response)
process.send?.('listens')
