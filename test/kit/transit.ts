import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import { listenFor } from './listen.ts'

const TAG = 16
const NONCE = 12

interface Response {
  readonly status: number
  readonly data?: object
  readonly errors?: readonly string[]
}

const bodyOf = async (request: IncomingMessage): Promise<Record<string, unknown>> => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return JSON.parse(text)
}

/**
 * A server of ours with one Transit key (aes256-gcm96), written after the public API of OpenBao and Vault
 * (https://openbao.org/api-docs/secret/transit/): tokens, statuses, error bodies, key versions with their minimum,
 * associated data.
 */
export const startTransit = async (
  t: Test,
  { token = 's.token', key = 'sidevault', mount = 'transit' } = {},
) => {
  const versions = [randomBytes(32)]
  const state = { sealed: false, minimum: 1, calls: [] as string[], fixed: undefined as string | undefined }

  const encrypt = ({ plaintext, associated_data }: Record<string, unknown>): Response => {
    if (typeof plaintext !== 'string') return { status: 400, errors: ['missing plaintext to encrypt'] }
    const nonce = randomBytes(NONCE)
    const cipher = createCipheriv('aes-256-gcm', versions.at(-1)!, nonce)
    cipher.setAAD(Buffer.from(String(associated_data ?? ''), 'base64'))
    const text = Buffer.concat([
      nonce,
      cipher.update(plaintext, 'base64'),
      cipher.final(),
      cipher.getAuthTag(),
    ])
    const ciphertext = `vault:v${versions.length}:${text.toString('base64')}`
    return { status: 200, data: { ciphertext, key_version: versions.length } }
  }

  const decrypt = ({ ciphertext, associated_data }: Record<string, unknown>): Response => {
    const [, digits, text] = /^vault:v(\d+):(.+)$/.exec(String(ciphertext)) ?? []
    const version = Number(digits)
    if (text === undefined) return { status: 400, errors: ['invalid ciphertext: no prefix'] }
    if (version < state.minimum)
      return { status: 400, errors: ['ciphertext or signature version is disallowed by policy (too old)'] }
    const own = versions[version - 1]
    if (own === undefined) return { status: 400, errors: ['invalid ciphertext: version is too new'] }
    try {
      const bytes = Buffer.from(text, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', own, bytes.subarray(0, NONCE))
      decipher.setAAD(Buffer.from(String(associated_data ?? ''), 'base64'))
      decipher.setAuthTag(bytes.subarray(-TAG))
      const plaintext = Buffer.concat([decipher.update(bytes.subarray(NONCE, -TAG)), decipher.final()])
      return { status: 200, data: { plaintext: plaintext.toString('base64') } }
    } catch {
      return { status: 400, errors: ['cipher: message authentication failed'] }
    }
  }

  const handle = async (request: IncomingMessage): Promise<Response> => {
    // Not among the calls: it is asked every few seconds.
    if (request.url === '/v1/sys/health') return { status: state.sealed ? 503 : 200, data: {} }
    const body = await bodyOf(request)
    state.calls.push(`${request.method} ${request.url}`)
    if (state.sealed) return { status: 503, errors: ['Vault is sealed'] }
    if (request.headers['x-vault-token'] !== token) return { status: 403, errors: ['permission denied'] }
    const [, version, at, what, name] = (request.url ?? '').split('/')
    if (version !== 'v1' || at !== mount)
      return { status: 404, errors: [`no handler for route "${at}/${what}/${name}". route entry not found.`] }
    if (name !== key) return { status: 400, errors: ['encryption key not found'] }
    return what === 'encrypt' ? encrypt(body) : decrypt(body)
  }

  const server = createServer(async (request, response) => {
    const { status, data, errors } = await handle(request)
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    if (state.fixed !== undefined) return response.end(state.fixed)
    const whole = {
      request_id: '1',
      lease_id: '',
      renewable: false,
      lease_duration: 0,
      data,
      warnings: null,
      auth: null,
    }
    response.end(JSON.stringify(errors === undefined ? whole : { errors }))
  })
  const port = await listenFor(t, server)
  return {
    state,
    env: { BAO_TOKEN: token },
    source: `transit:http://127.0.0.1:${port}/${mount}/${key}`,
    address: `http://127.0.0.1:${port}/${mount}/${key}`,
    /** As `POST /transit/keys/<key>/rotate` does. */
    rotate: () => void versions.push(randomBytes(32)),
  }
}
