import { readFile } from 'node:fs/promises'
import { request as http } from 'node:http'
import { request as https } from 'node:https'
import type { KeyProvider, KeyProviderContext } from '#sdk'
import { AppError, isObject } from '#sdk'

/** Maximum bytes of a response. */
const MAX_BYTES = 65_536
/** Associated data: a ciphertext that was made for another purpose does not unwrap. */
const ASSOCIATED = Buffer.from('sidevault root key').toString('base64')
const FORM =
  'Write transit:https://<server>:8200/<mount>/<key>, for example transit:https://bao.internal:8200/transit/sidevault.'

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

interface Target {
  readonly origin: string
  readonly mount: string
  readonly key: string
}

const targetOf = (address: string): Target => {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const parts = url?.pathname.split('/').filter((part) => part !== '') ?? []
  const key = parts.pop()
  const secure = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname))
  if (
    url === undefined ||
    key === undefined ||
    parts.length === 0 ||
    !secure ||
    url.username !== '' ||
    url.search !== ''
  )
    throw new AppError(
      'invalid',
      `The address of the transit key in SIDEVAULT_ROOT_KEY is not usable. ${FORM}`,
    )
  return { origin: url.origin, mount: parts.join('/'), key }
}

/** Environment variables of both servers' own tools, OpenBao's first. */
const setting = (env: KeyProviderContext['env'], name: string): string | undefined =>
  env[`BAO_${name}`] || env[`VAULT_${name}`] || undefined

const fileOf = async (name: string, path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new AppError('invalid', `The file that ${name} names cannot be read.`, { cause })
  }
}

const tokenOf = async (env: KeyProviderContext['env']): Promise<string> => {
  const path = setting(env, 'TOKEN_FILE')
  const token = path === undefined ? setting(env, 'TOKEN') : (await fileOf('BAO_TOKEN_FILE', path)).trim()
  if (token === undefined || !/^[!-~]+$/.test(token))
    throw new AppError(
      'invalid',
      'The transit server needs a token. Set BAO_TOKEN (or VAULT_TOKEN), or BAO_TOKEN_FILE to a file that holds it.',
    )
  return token
}

/** The server's error texts. They name paths and keys, never the request's content. */
const wordsOf = (body: unknown): string => {
  const errors = isObject(body) && Array.isArray(body.errors) ? body.errors : []
  const text = errors
    .map(String)
    .join('; ')
    .replace(/[^ -~]+/g, ' ')
    .trim()
    .slice(0, 200)
  return text === '' ? '' : ` ("${text}")`
}

const FIXES: Readonly<Record<number, string>> = {
  400: 'Check that the key exists, is of a type that encrypts with associated data (aes256-gcm96), and still has the version that wrapped the root key.',
  403: 'Check the token, and that its policy allows update on <mount>/encrypt/<key> and <mount>/decrypt/<key>.',
  404: 'Check the mount and the name of the key.',
  503: 'The server is sealed or in maintenance. Unseal it, then start again.',
}

/** Sends a request to the server; `token`: of its caller, if it needs one. */
const send = async (
  url: string,
  { env, signal }: Pick<KeyProviderContext, 'env' | 'signal'>,
  {
    method,
    token,
    body,
  }: { readonly method: 'GET' | 'POST'; readonly token?: string; readonly body?: object },
): Promise<{ readonly status: number; readonly text: string }> => {
  const namespace = setting(env, 'NAMESPACE')
  const authority = setting(env, 'CACERT')
  const options = {
    method,
    signal,
    headers: {
      'content-type': 'application/json',
      'x-vault-request': 'true',
      ...(token === undefined ? {} : { 'x-vault-token': token }),
      ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
    },
    ...(authority === undefined ? {} : { ca: await fileOf('BAO_CACERT', authority) }),
  }
  return new Promise<{ status: number; text: string }>((done, fail) => {
    const sent = (url.startsWith('https:') ? https : http)(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
        if (text.length > MAX_BYTES) response.destroy(new Error('the response is too large'))
      })
      response.on('end', () => done({ status: response.statusCode ?? 0, text }))
      response.on('error', fail)
    })
    sent.on('error', fail)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  }).catch((cause: unknown) => {
    const code = isObject(cause) && typeof cause.code === 'string' ? ` (${cause.code})` : ''
    throw new AppError(
      'gateway_timeout',
      `The transit server ${new URL(url).origin} does not respond${code}. Check that it runs, its address, and its certificate (BAO_CACERT).`,
      { cause },
    )
  })
}

const call = async (
  { origin, mount, key }: Target,
  place: KeyProviderContext,
  what: 'encrypt' | 'decrypt',
  body: object,
): Promise<Readonly<Record<string, unknown>>> => {
  const token = await tokenOf(place.env)
  const url = `${origin}/v1/${mount}/${what}/${key}`
  const { status, text } = await send(url, place, { method: 'POST', token, body })
  let response: unknown
  try {
    response = JSON.parse(text)
  } catch {
    // Reported below as a response without data.
  }
  if (status === 200 && isObject(response) && isObject(response.data)) return response.data
  throw new AppError(
    status >= 500 || status === 429 ? 'gateway_timeout' : 'invalid',
    `The transit server did not ${what} the root key: ${status}${wordsOf(response)}. ${FIXES[status] ?? 'Look at its log, then start again.'}`,
  )
}

/** Root keys under the Transit engine of OpenBao or Vault: https://openbao.org/api-docs/secret/transit/. */
export const keyProvider: KeyProvider = {
  scheme: 'transit',
  wrap: async (key, place) => {
    const plaintext = Buffer.from(key).toString('base64')
    const body = { plaintext, associated_data: ASSOCIATED }
    const { ciphertext } = await call(targetOf(place.address), place, 'encrypt', body)
    if (typeof ciphertext !== 'string' || !/^vault:v\d+:[\w+/=]{1,1000}$/.test(ciphertext))
      throw new AppError(
        'invalid',
        'The transit server returned no ciphertext. Check that SIDEVAULT_ROOT_KEY names a transit key.',
      )
    return ciphertext
  },
  unwrap: async (ciphertext, place) => {
    const body = { ciphertext, associated_data: ASSOCIATED }
    const { plaintext } = await call(targetOf(place.address), place, 'decrypt', body)
    if (typeof plaintext !== 'string')
      throw new AppError(
        'invalid',
        'The transit server returned no plaintext. Check that SIDEVAULT_ROOT_KEY names a transit key.',
      )
    return Buffer.from(plaintext, 'base64')
  },
  health: async (place) => {
    // https://openbao.org/api-docs/system/health/: 200 and 429 respond to requests, 501 and 503 do not.
    const { status } = await send(`${targetOf(place.address).origin}/v1/sys/health`, place, { method: 'GET' })
    if (status < 500) return undefined
    return {
      degraded: `The transit server is ${status === 503 ? 'sealed' : 'not ready'}; processes cannot start until it responds.`,
    }
  },
}
