import type { Server } from '@grpc/grpc-js'
import { HealthImplementation } from 'grpc-health-check'
import { withTimeout } from '../../common/with-timeout.ts'
import type { Check } from '../ops/health.ts'

export interface GrpcHealth {
  /** Every service is not serving from now on. */
  stop(): void
}

/** ms between two looks while not serving, so that readiness is soon known. */
const IMPATIENCE = 200

/**
 * `grpc.health.v1.Health` for the whole ('') and each service: serving while every part is ready, as seen within the
 * last `interval` ms. Answers cost nothing, whoever asks how often.
 */
export const serveHealth = (
  server: Server,
  checks: Readonly<Record<string, Check>>,
  options: { readonly services: readonly string[]; readonly interval: number; readonly timeout: number },
): GrpcHealth => {
  const names = ['', ...options.services]
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, 'NOT_SERVING'])))
  let serving = false
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const notify = (now: boolean) => {
    if (now === serving) return
    serving = now
    for (const name of names) health.setStatus(name, now ? 'SERVING' : 'NOT_SERVING')
  }
  const isReady = async () => {
    try {
      await Promise.all(Object.values(checks).map((check) => withTimeout(options.timeout, check)))
      return true
    } catch {
      // Why is said in the log when /readyz is asked.
      return false
    }
  }
  const look = async () => {
    const ready = await isReady()
    if (stopped) return
    notify(ready)
    timer = setTimeout(look, ready ? options.interval : Math.min(IMPATIENCE, options.interval))
    timer.unref()
  }
  look()
  health.addToServer(server)
  return {
    stop: () => {
      stopped = true
      clearTimeout(timer)
      notify(false)
    },
  }
}
