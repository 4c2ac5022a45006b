/** Options that grpc-js passes to `http2.createServer`; it has no public way to set them. */
interface Internals {
  readonly commonServerOptions?: Record<string, unknown>
}

/**
 * Raises the stream reset limit of a grpc-js server. Node's http2 closes a connection whose peer resets many streams.
 * Envoy resets one for each cancelled request and shares few connections among all callers, so one caller could end the
 * calls of others. Throws when this version of grpc-js has no such options.
 */
export const allowStreamResets = (server: object): void => {
  const { commonServerOptions } = server as Internals
  if (commonServerOptions === undefined)
    throw new Error('this version of grpc-js has no options to raise the stream reset limit')
  Object.assign(commonServerOptions, { streamResetBurst: 1_000_000, streamResetRate: 1_000_000 })
}
