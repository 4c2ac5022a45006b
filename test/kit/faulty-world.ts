import { join } from 'node:path'
import { createFaultProcessor } from './fault-processor.ts'
import { startForwardWorld } from './forward-world.ts'

/** A body that must not arrive as it is. */
export const SECRET = 'a body with {{ a token }} in it'

/** An Envoy with a forward proxy for all faults, so that an effect of a fault on the next request is seen. */
export const startFaultyWorld = async () => {
  const world = await startForwardWorld({
    withGateway: false,
    bootstrap: { gatewayTimeoutMs: 1000 },
    bindings: { connect: () => 'open', request: () => ({ surfaces: [] }) },
  })
  /** Where Envoy looks for its processor. */
  const socket = join(world.directory, 'gateway.sock')
  const processor = await createFaultProcessor(socket)
  /** Starts a processor that Envoy does not see before the returned function is called. */
  const prepareProcessor = async () => (await processor.prepare()).putInPlace
  return {
    world,
    socket,
    /** The destination's authority. */
    to: `dest.test:${world.destination.port}`,
    prepareProcessor,
    startProcessor: async () => (await prepareProcessor())(),
    killProcessor: processor.kill,
    close: async () => {
      processor.close()
      await world.close()
    },
  }
}
