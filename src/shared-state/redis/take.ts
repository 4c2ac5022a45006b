import { createHash } from 'node:crypto'
import type { Claim, TakeResult } from '../types.ts'

/** The used part of a Redis client. */
interface Commands {
  sendCommand(words: readonly string[]): Promise<unknown>
}

/**
 * The buckets of in-process.ts in one round trip, by the clock of the Redis server. KEYS: buckets. ARGV: the current
 * time in ms or an empty string, then calls a minute of each bucket. The reply: number of the claim that must wait (0:
 * none), its wait, and `fullIn`.
 */
const SCRIPT = `
local now = tonumber(ARGV[1])
if now == nil then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
local reply = { 0, '0' }
for i, key in ipairs(KEYS) do
  local full = tonumber(redis.call('GET', key) or now)
  if full > now + 60000 then
    full = now + 60000
    redis.call('SET', key, string.format('%.17g', full), 'PX', 60000)
  end
  local filled = math.max(now, full) + 60000 / tonumber(ARGV[i + 1])
  local wait = filled - now - 60000
  if wait > 0.001 then
    reply[1] = i
    reply[2] = string.format('%.17g', wait)
    reply[i + 2] = string.format('%.17g', full - now)
    return reply
  end
  redis.call('SET', key, string.format('%.17g', filled), 'PX', math.ceil(filled - now))
  reply[i + 2] = string.format('%.17g', filled - now)
end
return reply`

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
): Promise<TakeResult> => {
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
  const [rejected = 0, ms = 0, ...fullIn] = response.map(Number)
  return rejected === 0 ? { fullIn } : { fullIn, wait: { claim: rejected - 1, ms } }
}
