import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { root } from '../kit/sources.ts'
import { descendants } from '../supervisor/processes.ts'
import type { BadPlugin } from './bad-plugins.ts'

interface Outcome {
  readonly code: number | null
  readonly text: string
  /** Processes of a service (`start`) that outlived it. */
  readonly left: number
}

/**
 * Prefix of a command that the modes of files bind. Root without capabilities, not another user, who may not enter the
 * folder of the project.
 */
export const UNPRIVILEGED: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : []

/** Runs a command to its end. */
export const sidevault = async (
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
  prefix: readonly string[] = [],
): Promise<Outcome> => {
  const { PATH = '', HOME = '', ENVOY_BIN } = process.env
  const command = [...prefix, process.execPath, join(root, 'bin/sidevault.js'), ...args]
  const child = spawn(command[0] as string, command.slice(1), {
    cwd,
    env: { PATH, HOME, ...(ENVOY_BIN ? { ENVOY_BIN } : {}), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      text += chunk
    })
  const seen = new Set<number>()
  const watch = setInterval(() => {
    if (args[0] === 'start') for (const { pid } of descendants(child.pid as number)) seen.add(pid)
  }, 500)
  const [code] = await once(child, 'close')
  clearInterval(watch)
  const left = [...seen].filter((pid) => existsSync(`/proc/${pid}`)).length
  return { code, text, left }
}

/** A folder with these plugins as folders of their own. */
export const folderOf = (t: Test, plugins: readonly BadPlugin[]) =>
  t.testdir({
    'package.json': '{"type":"module"}',
    ...Object.fromEntries(plugins.map(({ name, source }) => [name, { 'index.js': source }])),
  })

/** SIDEVAULT_PLUGINS with them. */
export const listed = (plugins: readonly BadPlugin[]) =>
  ['*', ...plugins.map(({ name }) => `./${name}`)].join(',')
