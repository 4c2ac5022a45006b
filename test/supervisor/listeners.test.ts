import { createServer } from 'node:net'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { claimListeners } from '../../src/supervisor/listeners.ts'
import { listenFor } from '../kit/listen.ts'

t.test('the listener of operators gets a port in each role, which code may not call', async (t) => {
  const config = loadConfig({ SIDEVAULT_LISTEN: '127.0.0.1:0', SIDEVAULT_OPS_LISTEN: '127.0.0.1:0' })
  for (const role of ['all', 'gateway', 'admin'] as const) {
    const { ops, ports } = await claimListeners(config, role)
    t.ok(ops !== undefined && ops.port > 0 && ports.includes(ops.port), role)
  }
})

t.test('a port of the listener of operators that is in use prevents the start', async (t) => {
  const port = await listenFor(t, createServer())
  const config = loadConfig({ SIDEVAULT_LISTEN: '127.0.0.1:0', SIDEVAULT_OPS_LISTEN: `127.0.0.1:${port}` })
  await t.rejects(claimListeners(config, 'all'), {
    message: `The address 127.0.0.1:${port} is in use. Stop the process that listens there, or set SIDEVAULT_OPS_LISTEN to another port.`,
  })
})
