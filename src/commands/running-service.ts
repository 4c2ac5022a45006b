/** Calls to the service that runs on this machine's data directory, on its sockets. */
import { connect } from 'node:net'
import { resolve as resolvePath } from 'node:path'
import { codeOf } from '../common/errors.ts'
import { isObject } from '../common/json.ts'
import { unixHttp } from '../common/unix-http.ts'
import { type Role, runDirOf, socketsIn } from '../supervisor/messages.ts'
import { cannotOpen, StartError } from '../supervisor/start-error.ts'

/** True for an error of a connection to a socket that no service serves. */
const isNotServed = (error: unknown): boolean => ['ENOENT', 'ENOTDIR', 'ECONNREFUSED'].includes(codeOf(error))

/** Throws StartError for a socket that another user owns. */
const isServed = (path: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', (error) => {
      const code = codeOf(error)
      if (code === 'EACCES' || code === 'EPERM')
        reject(cannotOpen(`The service's socket "${resolvePath(path)}"`, code))
      else resolve(!isNotServed(error))
    })
  })

const notRunning = (dataDir: string, roles: readonly Role[]): StartError =>
  new StartError(
    `No service runs on the data directory "${dataDir}" in the role ${roles.join(' or ')}. Start it, or set SIDEVAULT_DATA_DIR.`,
  )

interface ServiceResponse {
  readonly status: number
  readonly body: string
}

interface CallOptions {
  readonly body?: object
  readonly timeoutMs: number
  /** Message of the error without a response. Default: for a call that changes nothing. */
  readonly unanswered?: string
}

/** Calls a socket of the service. Rejects with StartError if there is no response. */
export const callService = (
  socket: string,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  { unanswered = 'The service did not respond. Check its log, then retry.', ...options }: CallOptions,
): Promise<ServiceResponse> =>
  unixHttp(socket, method, path, options).catch((error: unknown) => {
    throw new StartError(isNotServed(error) ? 'The service has stopped. Start it, and retry.' : unanswered)
  })

/** The JSON of a response. Throws StartError with the reason of an error response. */
export const resultOf = ({ status, body }: ServiceResponse): unknown => {
  const value: unknown = body === '' ? undefined : JSON.parse(body)
  if (status < 400) return value
  throw new StartError(
    isObject(value) ? String(value.detail) : `The service responded with status ${status}.`,
  )
}

/**
 * The sockets of this name that services in these roles serve, in their order; those that a killed service has left are
 * skipped. Changes the working directory to the data directory: socket paths are limited in length, so they are
 * relative to it. Rejects with StartError if the data directory cannot be opened.
 */
export const findSockets = async (
  dataDir: string,
  roles: readonly Role[],
  name: 'control' | 'operator',
): Promise<readonly string[]> => {
  try {
    process.chdir(dataDir)
  } catch (error) {
    if (isNotServed(error)) return []
    throw cannotOpen(`The data directory "${dataDir}"`, codeOf(error))
  }
  const paths = roles.map((role) => socketsIn(runDirOf(role), 1)[name])
  const served = await Promise.all(paths.map(isServed))
  return paths.filter((_, at) => served[at])
}

/** `findSockets` that rejects with StartError if there is none. */
export const servedSockets = async (
  ...[dataDir, roles, name]: Parameters<typeof findSockets>
): Promise<readonly [string, ...string[]]> => {
  const [first, ...others] = await findSockets(dataDir, roles, name)
  if (first === undefined) throw notRunning(dataDir, roles)
  return [first, ...others]
}
