/**
 * A relay as a process of its own that ends by SIGKILL in a response. Arguments: the folder of its socket, and where it
 * ends (relay.ts, `failing`).
 */
import { join } from 'node:path'
import { failing, type IssuePlace, startRelay } from './relay.ts'

const [directory = '', place] = process.argv.slice(2)
const relay = await startRelay(join(directory, 'gateway.sock'))
relay.respond = failing(place as IssuePlace, async () => {
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => {})
})
process.send?.('listens')
