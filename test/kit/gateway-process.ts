/** A gateway over a stub vault as a process of its own, which a test may kill. Argument: the folder of its sockets. */
import { join } from 'node:path'
import { startGateway } from '../../src/gateway/server.ts'
import { createFarSide } from './egress.ts'

const [directory = ''] = process.argv.slice(2)

await startGateway(createFarSide().deps, {
  socketPath: join(directory, 'gateway.sock'),
  logSocketPath: join(directory, 'log.sock'),
  prefixes: ['SVC', 'BT'],
  egress: { allow: ['127.0.0.1/32'], http: false, ports: '*' },
})
process.send?.('listens')
