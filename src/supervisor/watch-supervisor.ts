import { killQuietly } from '../common/kill.ts'
import type { AcceptedSettings, ParentMessage, ProcessStart } from './messages.ts'

/**
 * For the processes below the supervisor: what it orders runs, `stop` also on SIGTERM. When it dies without a word, this
 * process ends at once and takes Envoy with it, so that nothing is left behind.
 */
export const watchSupervisor = ({
  start,
  settings,
  stop,
}: {
  readonly start: (start: ProcessStart) => void
  readonly settings: (settings: AcceptedSettings) => void
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
    else if (message.kind === 'envoy') envoy = message.pid
    else end()
  })
  process.on('disconnect', () => {
    if (envoy !== undefined) killQuietly(envoy)
    process.exit(1)
  })
  process.on('SIGTERM', end)
  process.on('SIGINT', () => {}) // the supervisor decides
}
