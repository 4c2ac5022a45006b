import { status as grpc, type ServerDuplexStream } from '@grpc/grpc-js'
import { AppError } from '../../common/errors.ts'
import type { Calls } from './calls.ts'

/** The handler that grpc-js stores for a method, by path. */
interface Internals {
  readonly handlers?: Map<string, object>
}

/** Name in metrics and logs, as over HTTP: client-supplied paths are not used as labels. */
const UNMATCHED = '/unmatched'

const same = (bytes: Buffer) => bytes

/**
 * Rejects calls of unknown methods with UNIMPLEMENTED, behind the interceptors, so that they are logged and counted:
 * grpc-js by itself rejects them before the interceptors. Throws when this version of grpc-js does not allow to handle
 * them.
 */
export const handleUnknownMethods = (server: object, calls: Calls): void => {
  const { handlers } = server as Internals
  if (!(handlers instanceof Map))
    throw new Error('this version of grpc-js does not allow to handle unknown methods')
  const known = handlers.get.bind(handlers)
  // As a stream, since its handler runs before any message arrives.
  const unknown = {
    type: 'bidi',
    path: UNMATCHED,
    serialize: same,
    deserialize: same,
    func: (call: ServerDuplexStream<Buffer, Buffer>) => {
      calls.stateOf(call.metadata).error = new AppError('not_found', 'The method does not exist.')
      const details = 'The method does not exist. Reflection lists all methods.'
      call.emit('error', { code: grpc.UNIMPLEMENTED, details })
    },
  }
  handlers.get = (path) => known(path) ?? unknown
}
