import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import type { Test } from 'tap'

/** Lets a server listen on this machine until the test ends; its port. */
export const listenFor = async (
  t: Pick<Test, 'teardown'>,
  server: Server & { closeAllConnections?(): void },
): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections?.()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
