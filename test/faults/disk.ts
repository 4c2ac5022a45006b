import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A small file system in memory, or why there is none. */
export const smallDisk = (
  mebibytes: number,
): { path: string; remount: (how: 'ro' | 'rw') => void; unmount: () => void } | string => {
  const path = mkdtempSync(join(tmpdir(), 'sidevault-disk-'))
  const options = ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path]
  const { status, stderr } = spawnSync('mount', options, { encoding: 'utf8' })
  if (status !== 0) {
    rmSync(path, { recursive: true })
    return `no file system can be mounted here (needs root): ${stderr.trim()}`
  }
  return {
    path,
    remount: (how) => {
      execFileSync('mount', ['-o', `remount,${how}`, path])
    },
    unmount: () => {
      execFileSync('umount', ['-l', path])
      rmSync(path, { recursive: true, force: true })
    },
  }
}
