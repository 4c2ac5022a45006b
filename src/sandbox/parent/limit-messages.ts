import type { CodeIssue } from '../../sdk/index.ts'
import type { LimitName, SandboxLimits } from '../types.ts'

const SENTENCES: Readonly<Record<LimitName, (limits: SandboxLimits, memoryMib: number) => string>> = {
  cpu: ({ cpuMs }) => `It used more than ${cpuMs} ms of CPU.`,
  wall: ({ wallMs }) => `It took longer than ${wallMs} ms.`,
  memory: (_, memoryMib) =>
    `It used more than ${memoryMib} MiB of memory, or too much with other waiting code of its tenant.`,
  argument: ({ argumentBytes }) => `Its argument is longer than ${argumentBytes} bytes.`,
  result: ({ resultBytes }) =>
    `Its result, error or console output is too long; a result may have ${resultBytes} bytes.`,
  host_calls: ({ syncCalls, asyncCalls }) =>
    `It made too many host calls: the limit is ${syncCalls} synchronous ones, and about ${asyncCalls} concurrent asynchronous ones.`,
  crash: () => 'The process that ran it crashed. Retry.',
  interrupted: () => 'The process that ran it ended because of other code. Retry.',
  quarantine: () => 'It crashed its process twice within ten minutes, so it is blocked for ten minutes.',
  overload: () => 'The sandbox is at capacity. Retry later.',
  cancelled: () => 'It was cancelled.',
}

/** Message for an exceeded limit. `location`: line and column, `3:7`. */
export const limitSentence = (
  limit: LimitName,
  limits: SandboxLimits,
  { memoryMib }: { readonly memoryMib: number },
  location?: string,
): string => {
  const [line, column] = /^(\d{1,6}):(\d{1,6})$/.exec(location ?? '')?.slice(1) ?? []
  const where = line === undefined ? '' : ` It was stopped at line ${line}, column ${column}.`
  return SENTENCES[limit](limits, memoryMib) + where
}

export const unusableSentence = ([first]: readonly CodeIssue[]): string =>
  first === undefined
    ? 'The code cannot be used.'
    : `${first.message} (line ${first.line}, column ${first.column})`
