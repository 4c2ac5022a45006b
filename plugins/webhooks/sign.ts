import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64')

/**
 * Headers of Standard Webhooks (https://www.standardwebhooks.com): the id of the message, the time in seconds, and one
 * signature for each secret.
 */
export const signatureHeaders = (
  secrets: readonly string[],
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
): readonly (readonly [name: string, value: string])[] => {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return [
    ['webhook-id', id],
    ['webhook-timestamp', String(seconds)],
    ['webhook-signature', signatures.join(' ')],
  ]
}
