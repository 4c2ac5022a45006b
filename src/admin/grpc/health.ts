import type { Server } from '@grpc/grpc-js'
import { HealthImplementation } from 'grpc-health-check'
import { withTimeout } from '../../common/with-timeout.ts'
import type { Check } from '../ops/health.ts'

interface GrpcHealth {
  /** Reports NOT_SERVING for all services from now on. */
  stop(): void
}

/** ms between two checks while not serving, so that readiness is noticed soon. */
const NOT_SERVING_INTERVAL_MS = 200

/**
 * `grpc.health.v1.Health` for the server ('') and each service: SERVING while all components are ready, as checked in
 * the last `interval` ms. Health calls read the cached result.
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
      // /readyz logs the cause.
      return false
    }
  }
  const look = async () => {
    const ready = await isReady()
    if (stopped) return
    notify(ready)
    timer = setTimeout(look, ready ? options.interval : Math.min(NOT_SERVING_INTERVAL_MS, options.interval))
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
