import { Counter, Gauge, type Registry } from '@prometheus-io/client'

/** Metrics of Redis, registered only when it is configured. */
export const createRedisMetrics = (registry: Registry) => {
  const registers = [registry]
  return {
    up: new Gauge({
      name: 'sidevault_redis_up',
      help: '1 while Redis works for every process; 0 while a process counts by itself.',
      aggregator: 'min',
      registers,
    }),
    calls: new Counter({
      name: 'sidevault_rate_limit_checks_total',
      help: 'Rate-limit checks by backend: redis (shared), or process (while Redis is unavailable).',
      labelNames: ['backend'] as const,
      registers,
    }),
  }
}
