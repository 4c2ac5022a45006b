import { request } from 'node:http'

const TIMEOUT_MS = 2_000

/** HTTP request on a unix socket: Envoy's admin interface, a process's status page, maintenance commands. */
export const unixHttp = (
  socketPath: string,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  {
    signal,
    body: sent,
    timeoutMs = TIMEOUT_MS,
  }: { readonly signal?: AbortSignal; readonly body?: object; readonly timeoutMs?: number } = {},
): Promise<{ readonly status: number; readonly body: string }> =>
  new Promise((resolve, reject) => {
    const options = { socketPath, method, path, agent: false, timeout: timeoutMs }
    const call = request({ ...options, ...(signal ? { signal } : {}) }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.on('error', reject)
    })
    call.on('timeout', () => call.destroy(new Error('request timeout')))
    call.on('error', reject)
    call.end(sent === undefined ? undefined : JSON.stringify(sent))
  })

/** The JSON of a GET request. Rejects with an Error unless the status is 200. */
export const getUnixJson = async <T>(
  socketPath: string,
  path: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<T> => {
  const { status, body } = await unixHttp(socketPath, 'GET', path, options)
  if (status !== 200) throw new Error(`GET ${path.split('?', 1)[0]} has status ${status}`)
  return JSON.parse(body)
}
