import { killQuietly } from '../common/kill.ts'
import type { AcceptedSettings, ParentMessage, ProcessStart } from './messages.ts'

/**
 * Handles the supervisor's messages in a child process; SIGTERM also calls `stop`. If the supervisor dies, kills Envoy
 * and exits at once, so that no process is left.
 */
export const watchSupervisor = ({
  start,
  settings,
  check,
  drain,
  stop,
}: {
  readonly start: (start: ProcessStart) => void
  readonly settings: (settings: AcceptedSettings) => void
  readonly check: () => void
  readonly drain: () => void
  readonly stop: () => Promise<void>
}): void => {
  let envoy: number | undefined
  let stopping = false
  const end = () => {
    if (stopping) return
    stopping = true
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('message', (message: ParentMessage) => {
    if (message.kind === 'start') start(message.start)
    else if (message.kind === 'settings') settings(message.settings)
    else if (message.kind === 'check') check()
    else if (message.kind === 'drain') drain()
    else if (message.kind === 'envoy') envoy = message.pid
    else end()
  })
  process.on('disconnect', () => {
    if (envoy !== undefined) killQuietly(envoy)
    process.exit(1)
  })
  process.on('SIGTERM', end)
  process.on('SIGINT', () => {}) // The supervisor stops its children.
}
