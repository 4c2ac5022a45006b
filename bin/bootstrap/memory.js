import { writeFileSync } from 'node:fs'

/**
 * Excludes memory (keys, card numbers) from core files of this process and its children: they contain registers only,
 * wherever `core_pattern` sends them. Linux only; macOS writes none unless `ulimit -c` allows it.
 */
export const excludeMemoryFromCoreFiles = () => {
  try {
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    // no such file: another system, or /proc is not there
  }
}
