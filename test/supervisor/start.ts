import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rememberChecks } from '../kit/checked.ts'
import { LONG } from '../kit/long.ts'
import { freePort } from '../kit/sidevault.ts'
import { until } from './processes.ts'

const script = fileURLToPath(new URL('../../bin/sidevault.js', import.meta.url))

interface StartOptions {
  readonly env?: Record<string, string>
  /** Without a terminal, as under a service manager. */
  readonly detached?: boolean
}

/** The program as a person starts it, without waiting for anything: no key is given. */
export const startBlind = (dataDir: string, options: StartOptions & { readonly port: number }) => {
  if (!LONG && !existsSync(dataDir)) rememberChecks(dataDir)
  const child = spawn(process.execPath, [script, 'start'], {
    env: {
      PATH: process.env.PATH,
      ENVOY_BIN: process.env.ENVOY_BIN,
      SIDEVAULT_DATA_DIR: dataDir,
      SIDEVAULT_LISTEN: `127.0.0.1:${options.port}`,
      ...options.env,
    },
    detached: options.detached ?? false,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'], // without us it stops
  })
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    output.stderr += chunk
  })
  return { child, output, exited: once(child, 'exit') }
}

/** The program as a person starts it: no key is given. `ms`: how long until it was ready, or had ended. */
export const start = async (dataDir: string, options: StartOptions & { readonly port?: number } = {}) => {
  const port = options.port ?? (await freePort())
  const began = performance.now()
  const { child, output, exited } = startBlind(dataDir, { ...options, port })
  await until('ready, or ended', () => output.stdout.includes('\ncurl ') || child.exitCode !== null)
  return {
    port,
    child,
    output,
    ms: performance.now() - began,
    stop: async () => {
      child.kill('SIGTERM')
      const [code] = await exited
      return code
    },
    exited,
  }
}
