import { Client } from 'pg'
import type { Log } from '../../common/log.ts'
import { codeOf } from './errors.ts'
import { clientConfig, UNLIMITED } from './pool.ts'
import { CHANNEL } from './transaction.ts'

/** ms between two tries to connect. */
const RETRY_MS = 1_000

/**
 * Tells of every change that any process announces, as long as its connection holds, and once more whenever it is there
 * again. A hint only: those who need to know look by themselves (changes.ts).
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
      log.debug({ code: codeOf(thrown) }, 'the store tells of no changes for now')
      timer = setTimeout(() => void connect(), RETRY_MS).unref()
    }
    fresh.on('error', again)
    fresh.on('end', () => again())
    fresh.on('notification', reported)
    try {
      await fresh.connect()
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
