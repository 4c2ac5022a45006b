import { status as grpc, type ServerDuplexStream } from '@grpc/grpc-js'
import { AppError } from '../../common/errors.ts'
import type { Calls } from './calls.ts'

/** What grpc-js keeps of a method, found by its path. */
interface Internals {
  readonly handlers?: Map<string, object>
}

/** As HTTP names what it has no operation for: paths that anyone may think of name neither metrics nor log lines. */
const UNMATCHED = '/unmatched'

const same = (bytes: Buffer) => bytes

/**
 * Answers calls of methods that do not exist with UNIMPLEMENTED, behind the interceptors that every call goes through:
 * grpc-js by itself answers them before, so that they would leave no line and no count. Throws when this version of
 * grpc-js does not let them be answered.
 */
export const handleUnknownMethods = (server: object, calls: Calls): void => {
  const { handlers } = server as Internals
  if (!(handlers instanceof Map))
    throw new Error('this version of grpc-js does not let unknown methods be answered')
  const known = handlers.get.bind(handlers)
  // For a stream, since that one is handled before any message has come.
  const unknown = {
    type: 'bidi',
    path: UNMATCHED,
    serialize: same,
    deserialize: same,
    func: (call: ServerDuplexStream<Buffer, Buffer>) => {
      calls.stateOf(call.metadata).error = new AppError('not_found', 'There is no such method.')
      const details = 'There is no such method. Reflection lists what there is.'
      call.emit('error', { code: grpc.UNIMPLEMENTED, details })
    },
  }
  handlers.get = (path) => known(path) ?? unknown
}
