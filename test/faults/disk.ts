import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
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

/** A disk that programs have files of open. */
interface FailingDisk {
  readonly path: string
  /**
   * Until `release` nothing can be written any more, not through open files either: neither files but those whose names
   * end so, nor directories. (A kernel then rejects an orderly remount as read-only.)
   */
  freeze(except?: string): void
  release(): void
  /** The kernel finds the file system broken and makes it read-only, which holds for as long as it is mounted. */
  abort(): void
  /** Mounts it again, as after a repair. False while a process has files of it open. */
  mountAgain(): boolean
  unmount(): void
}

/** An ext4 of its own in a file, or why there is none. */
export const failingDisk = (mebibytes: number): FailingDisk | string => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-disk-'))
  const image = join(directory, 'image')
  const path = join(directory, 'disk')
  mkdirSync(path)
  const mount = ['mount', '-o', 'loop', image, path]
  for (const [command = '', ...args] of [
    ['truncate', '--size', `${mebibytes}M`, image],
    ['mkfs.ext4', '-q', image],
    mount,
  ]) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
    if (status === 0) continue
    rmSync(directory, { recursive: true })
    return `no ext4 can be made and mounted here (needs root): ${error?.message ?? stderr.trim()}`
  }
  const flag = (how: '+i' | '-i', ...which: string[]) => {
    execFileSync('find', [path, ...which, '-exec', 'chattr', how, '{}', '+'])
  }
  // Sockets have no flags.
  const types = ['(', '-type', 'f', '-o', '-type', 'd', ')']
  return {
    path,
    freeze: (except) => flag('+i', ...types, ...(except === undefined ? [] : ['!', '-name', `*${except}`])),
    release: () => flag('-i', ...types),
    abort: () => {
      execFileSync('mount', ['-o', 'remount,abort', path])
    },
    mountAgain: () => {
      if (spawnSync('umount', [path]).status !== 0) return false
      execFileSync('mount', mount.slice(1))
      return true
    },
    unmount: () => {
      execFileSync('umount', ['-l', path])
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
