/** What grpc-js hands to `http2.createServer`, which it has no option for. */
interface Internals {
  readonly commonServerOptions?: Record<string, unknown>
}

/**
 * Node's http2 kills a connection whose peer resets many streams. Envoy resets one for each request that was given up,
 * and carries those of all callers over few connections: one caller's must not end the others' calls. Throws when this
 * version of grpc-js does not let the limit be raised.
 */
export const allowStreamResets = (server: object): void => {
  const { commonServerOptions } = server as Internals
  if (commonServerOptions === undefined)
    throw new Error('this version of grpc-js does not let the stream reset limit be raised')
  Object.assign(commonServerOptions, { streamResetBurst: 1_000_000, streamResetRate: 1_000_000 })
}
