/**
 * Worker threads of Envoy: half of the cores, at least one. The gateway and admin processes need the other half. With
 * more workers each has its own connection to a gateway, so a message wakes it for fewer calls (docs/performance.md).
 */
const envoyWorkers = (cores: number): number => Math.max(1, Math.floor(cores / 2))

/** Command line of Envoy, without the program. */
export const envoyArguments = (configFile: string, cores: number): readonly string[] => [
  ...['--config-path', configFile, '--concurrency', String(envoyWorkers(cores))],
  ...['--disable-hot-restart', '--log-level', 'warning', '--log-format', '%l %n %v'],
]
