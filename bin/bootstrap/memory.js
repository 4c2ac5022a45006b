import { writeFileSync } from 'node:fs'

/**
 * What this process and all below it (services, Envoy, commands) hold in memory, keys and card numbers, is left out of
 * core files: they keep registers and no mapping, wherever the system's `core_pattern` sends them. On Linux; macOS writes
 * none unless `ulimit -c` allows it.
 */
export const keepMemoryOutOfCores = () => {
  try {
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    // no such file: another system, or /proc is not there
  }
}
