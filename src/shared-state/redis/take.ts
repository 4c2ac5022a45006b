import { createHash } from 'node:crypto'
import type { Claim, Wait } from '../types.ts'

/** The used part of a Redis client. */
interface Commands {
  sendCommand(words: readonly string[]): Promise<unknown>
}

/**
 * The buckets of in-process.ts in one round trip, by the clock of the Redis server. KEYS: buckets. ARGV: the current
 * time in ms or an empty string, then calls a minute of each bucket.
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

/**
 * Prefix of bucket names. The rest is a hash under the vault's own key, so vaults that share a Redis do not collide.
 */
const PREFIX = 'sidevault:calls:'

/** Takes one call for each claim, up to the first that must wait. `now`: default the server's clock. */
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
    // A restarted server has lost the script.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error
    return commands.sendCommand(['EVAL', SCRIPT, ...words])
  })
  if (!Array.isArray(response)) throw new Error('unexpected reply of the Redis script')
  const claim = Number(response[0]) - 1
  return claim < 0 ? undefined : { claim, ms: Number(response[1]) }
}
