import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { say } from './run.js'

const alive = (/** @type {number} */ pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}

const holder = (/** @type {string} */ path) => {
  try {
    return Number(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Removes the lock of a dead process. Restores it when another process has acquired it in between. */
const removeStale = (/** @type {string} */ path, /** @type {number} */ dead) => {
  const aside = `${path}.${process.pid}.stale`
  try {
    renameSync(path, aside)
    if (holder(aside) !== dead) linkSync(aside, path)
  } catch {
    // another process removed it
  }
  rmSync(aside, { force: true })
}

/**
 * Runs `work` under a lock among processes (two `npm start` at once). Locks of dead processes are ignored.
 * @template T
 * @param {string} root the project
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export const exclusively = async (root, name, work) => {
  const directory = join(root, '.cache')
  mkdirSync(directory, { recursive: true })
  const path = join(directory, `${name}.lock`)
  const mine = `${path}.${process.pid}`
  writeFileSync(mine, String(process.pid))
  try {
    for (let waited = false; ; waited = true) {
      try {
        linkSync(mine, path) // atomic, with its content
        break
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
      }
      const pid = holder(path)
      if (pid !== undefined && !alive(pid)) removeStale(path, pid)
      else {
        if (!waited) say(`Waiting for process ${pid} to finish installing …`)
        await setTimeout(200)
      }
    }
    try {
      return await work()
    } finally {
      rmSync(path, { force: true })
    }
  } finally {
    rmSync(mine, { force: true })
  }
}
