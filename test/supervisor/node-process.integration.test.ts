import type { ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mock } from 'node:test'
import t from 'tap'
import type { ChildMessage } from '../../src/supervisor/messages.ts'
import { applySettings, forkProcess, nodeKind } from '../../src/supervisor/node-process.ts'

const settings = { content: {}, trustBundle: 'trust.pem' }

/** A process that is slow to take settings, started as the supervisor does. */
const slow = () => {
  const kills: unknown[] = []
  const emitter = new EventEmitter()
  const child = Object.assign(emitter, {
    connected: true,
    send: () => true,
    kill: (signal: unknown) => {
      kills.push(signal)
      emitter.emit('exit')
    },
  }) as unknown as ChildProcess
  const { ready } = nodeKind('gateway-0', {
    start: () => {
      throw new Error('it was started already')
    },
    spawn: () => child,
    onReady: () => {},
  })
  const started = ready(child, new AbortController().signal)
  return { child, kills, started, says: (report: ChildMessage) => emitter.emit('message', report) }
}

t.test('a process that does not apply settings in time is killed to respawn with them', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { child, kills, started, says } = slow()
  says({ kind: 'ready' })
  await started
  const applied = applySettings(child, settings)
  mock.timers.tick(4_999)
  t.same(kills, [])
  mock.timers.tick(1)
  t.same(kills, ['SIGKILL'])
  await applied
})

t.test('a starting process applies settings once it has started', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { child, kills, started, says } = slow()
  const applied = applySettings(child, settings)
  mock.timers.tick(15_000)
  says({ kind: 'ready' })
  says({ kind: 'settings' })
  await Promise.all([started, applied])
  mock.timers.tick(60_000)
  t.same(kills, [])

  const never = slow()
  const gone = applySettings(never.child, settings)
  mock.timers.tick(20_000)
  t.same(never.kills, ['SIGKILL'], 'but not for ever')
  await gone
})

const mallocOf = async (env: NodeJS.ProcessEnv): Promise<readonly string[]> => {
  const child = forkProcess(env, 'gateway')
  const ended = once(child, 'exit')
  const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8').split('\0')
  child.kill('SIGKILL')
  await ended
  return environment.filter((line) => line.startsWith('MALLOC_ARENA_MAX='))
}

t.test('processes run with MALLOC_ARENA_MAX=2, unless the operator sets it', async (t) => {
  const { MALLOC_ARENA_MAX: _, ...env } = process.env
  t.same(await mallocOf(env), ['MALLOC_ARENA_MAX=2'])
  t.same(await mallocOf({ ...env, MALLOC_ARENA_MAX: '3' }), ['MALLOC_ARENA_MAX=3'])
})

t.test('a process has an inspector only when NODE_OPTIONS names its port', async (t) => {
  for (const [env, has] of [
    [{}, false],
    [{ NODE_OPTIONS: '--inspect-port=0' }, true],
  ] as const) {
    const child = forkProcess({ ...process.env, ...env }, 'admin')
    t.equal(child.spawnargs.includes('--disable-sigusr1'), !has)
    child.kill('SIGKILL')
  }
})
