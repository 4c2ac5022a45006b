import { Client } from 'pg'
import { codeOf } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { clientConfig, sessionSettings, UNLIMITED } from './pool.ts'
import { beginConnection } from './standby-check.ts'
import { CHANNEL } from './transaction.ts'

/** ms between two connection attempts. */
const RETRY_MS = 1_000

/**
 * Reports every change announced by any process while its connection lasts, and once after each reconnect. A hint only:
 * changes.ts reads the counters regardless.
 */
export const listen = (
  { log }: { readonly log: Log },
  { address, reported }: { readonly address: string; readonly reported: () => void },
): { close(): Promise<void> } => {
  let closed = false
  let client: Client | undefined
  let timer: NodeJS.Timeout | undefined
  const config = clientConfig(address, UNLIMITED)

  const connect = async (): Promise<void> => {
    const fresh = new Client(config)
    client = fresh
    let over = false
    const again = (thrown?: unknown): void => {
      if (over) return
      over = true
      fresh.end().catch(() => {})
      if (closed) return
      log.debug({ code: codeOf(thrown) }, 'store change notifications unavailable; retrying')
      timer = setTimeout(() => void connect(), RETRY_MS).unref()
    }
    fresh.on('error', again)
    fresh.on('end', () => again())
    fresh.on('notification', reported)
    try {
      await fresh.connect()
      await beginConnection(fresh, sessionSettings(UNLIMITED))
      await fresh.query(`listen ${CHANNEL}`)
      reported()
    } catch (thrown) {
      again(thrown)
    }
  }

  void connect()
  return {
    close: async () => {
      closed = true
      clearTimeout(timer)
      await client?.end().catch(() => {})
    },
  }
}
