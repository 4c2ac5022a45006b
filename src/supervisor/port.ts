import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { codeOf } from '../common/errors.ts'
import { type SettingName, variableOf } from '../config/schema.ts'
import type { ListenAddress } from '../config.ts'
import { StartError } from './start-error.ts'

const ATTEMPTS = 6
const PAUSE = 200

const fixes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use. Stop the process that listens there, or set SIDEVAULT_LISTEN to another port.',
  EACCES: 'may not be used by this user. Set SIDEVAULT_LISTEN to a port from 1024 on.',
  EADDRNOTAVAIL: 'is not an address of this machine. Set SIDEVAULT_LISTEN to one that is.',
}

/**
 * Checks that Envoy, or the admin process, can listen there (Envoy itself would share a port in use) and chooses a port
 * for 0. Retries a port in use for a second: a supervisor that was just killed may not have ended yet. Throws
 * StartError.
 */
export const claimPort = async (listen: ListenAddress, setting: SettingName = 'listen') => {
  for (let attempt = 1; ; attempt++) {
    const server = createServer()
    try {
      server.listen({ host: listen.host, port: listen.port, exclusive: true })
      await once(server, 'listening')
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : listen.port
      server.close()
      await once(server, 'close')
      return { host: listen.host, port }
    } catch (error) {
      const code = codeOf(error)
      if (code === 'EADDRINUSE' && attempt < ATTEMPTS) {
        await setTimeout(PAUSE)
        continue
      }
      const fix = fixes[code] ?? `cannot be used (${code}). Set SIDEVAULT_LISTEN to another address.`
      throw new StartError(
        `The address ${listen.host}:${listen.port} ${fix.replace('SIDEVAULT_LISTEN', variableOf(setting))}`,
      )
    }
  }
}
