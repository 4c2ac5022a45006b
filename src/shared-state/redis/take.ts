import { createHash } from 'node:crypto'
import type { Claim, Wait } from '../types.ts'

/** The part of a client that this needs: one command, as its words. */
export interface Commands {
  sendCommand(words: readonly string[]): Promise<unknown>
}

/**
 * The buckets of in-process.ts, in one round trip and by the clock of the Redis server, which all replicas share. Keys:
 * buckets; arguments: the time now in ms or nothing, then calls a minute for each.
 */
const SCRIPT = `
local now = tonumber(ARGV[1])
if now == nil then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
for i, key in ipairs(KEYS) do
  local full = tonumber(redis.call('GET', key) or now)
  if full > now + 60000 then
    full = now + 60000
    redis.call('SET', key, string.format('%.17g', full), 'PX', 60000)
  end
  local filled = math.max(now, full) + 60000 / tonumber(ARGV[i + 1])
  local wait = filled - now - 60000
  if wait > 0.001 then return { i, string.format('%.17g', wait) } end
  redis.call('SET', key, string.format('%.17g', filled), 'PX', math.ceil(filled - now))
end
return { 0, '0' }`

const SHA = createHash('sha1').update(SCRIPT).digest('hex')

/** Vaults that share a Redis do not meet: what stands behind is hashed under a key of the vault's own. */
const PREFIX = 'sidevault:calls:'

/** Takes one call for each claim, up to the first that has to wait. `now`: default the server's clock. */
export const take = async (
  commands: Commands,
  claims: readonly Claim[],
  now?: number,
): Promise<Wait | undefined> => {
  const words = [
    String(claims.length),
    ...claims.map(({ bucket }) => PREFIX + bucket),
    now === undefined ? '' : String(now),
    ...claims.map(({ perMinute }) => String(perMinute)),
  ]
  const response = await commands.sendCommand(['EVALSHA', SHA, ...words]).catch((error: unknown) => {
    // A server that was restarted does not know the script any more; this tells it.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    return commands.sendCommand(['EVAL', SCRIPT, ...words])
  })
  if (!Array.isArray(response)) throw new Error('Redis answered with something else than the script does')
  const claim = Number(response[0]) - 1
  return claim < 0 ? undefined : { claim, ms: Number(response[1]) }
}
