import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import type { Command } from '../../src/store/command.ts'
import { commandNamed } from '../../src/store/commands.ts'

const STORE = join(import.meta.dirname, '../../src/store')

/** Modules that run a process or a thread when they are imported. */
const PROGRAMS = ['sqlite/worker.ts', 'sqlite/reader-process.ts', 'sqlite/background-checkpoint.ts']

const isCommand = (value: unknown): value is Command =>
  typeof value === 'object' && value !== null && 'run' in value && 'destroysKeys' in value

const defined = async (): Promise<readonly Command[]> => {
  const files = globSync('**/*.ts', { cwd: STORE }).filter((file) => !PROGRAMS.includes(file))
  const modules: object[] = await Promise.all(
    files.map((file) => import(pathToFileURL(join(STORE, file)).href)),
  )
  return modules.flatMap((module) => Object.values(module)).filter(isCommand)
}

t.test('commands.ts lists every command under a name of its own', async (t) => {
  const commands = await defined()
  t.ok(commands.length > 20)
  for (const command of commands) t.equal(commandNamed(command.name), command, command.name)
  t.equal(new Set(commands.map(({ name }) => name)).size, new Set(commands).size)
  t.throws(() => commandNamed('tokens.unknown'), { message: /tokens\.unknown/ })
})

t.test('facts of a command agree with each other', async (t) => {
  for (const { name, isEffect, isMaintenance, movesCounters, destroysKeys, batch } of await defined()) {
    t.notOk(isEffect && isMaintenance, `${name}: no caller waits for maintenance`)
    t.notOk(destroysKeys && !movesCounters, `${name}: caches must drop keys that are destroyed`)
    t.notOk(batch && destroysKeys, `${name}: keys are destroyed alone`)
  }
})
