import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findEnvoy } from '../kit/envoy.ts'
import { freePort } from '../kit/sidevault.ts'
import { apiEdgeConfig, runEnvoy } from './envoys.ts'

/** Runs `bare-api-process.ts` behind an Envoy, and on `directPort` without one. */
export const startBareApi = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-bench-'))
  const socket = join(directory, 'api.sock')
  const directPort = await freePort()
  const child = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('bare-api-process.ts', import.meta.url)),
      socket,
      join(directory, 'bare.db'),
      String(directPort),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  await once(child.stdout, 'data')
  const port = await freePort()
  const envoy = await runEnvoy(findEnvoy(), apiEdgeConfig(port, socket), port)
  return {
    port,
    directPort,
    pids: { envoy: envoy.pid, api: child.pid! },
    stop: async () => {
      await envoy.stop()
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
