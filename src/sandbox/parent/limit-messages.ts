import type { CodeIssue } from '../../sdk/index.ts'
import type { LimitName, SandboxLimits } from '../types.ts'

const SENTENCES: Readonly<Record<LimitName, (limits: SandboxLimits, memoryMb: number) => string>> = {
  cpu: ({ cpuMs }) => `It used more than ${cpuMs} ms of CPU.`,
  wall: ({ wallMs }) => `It took longer than ${wallMs} ms.`,
  memory: (_, memoryMb) => `It used more than ${memoryMb} MiB of memory.`,
  argument: ({ argumentBytes }) => `Its argument is longer than ${argumentBytes} bytes.`,
  result: ({ resultBytes }) =>
    `What it returned, threw or printed is too long; a result may have ${resultBytes} bytes.`,
  host_calls: ({ syncCalls, asyncCalls }) =>
    `It made more calls of the service than it may: ${syncCalls} that are answered at once, or far more than ${asyncCalls} at a time that wait.`,
  crash: () => 'The process that ran it ended before it did. Try again.',
  quarantine: () =>
    'It has ended the process that ran it twice within ten minutes; it is not run until that is over.',
  overload: () => 'There was no room to run it. Try again in a moment.',
  cancelled: () => 'It was cancelled.',
}

/** What to tell about a limit; `place` is the line and column, `3:7`, where it was met. */
export const limitSentence = (
  limit: LimitName,
  limits: SandboxLimits,
  { memoryMb }: { readonly memoryMb: number },
  place?: string,
): string => {
  const [line, column] = /^(\d{1,6}):(\d{1,6})$/.exec(place ?? '')?.slice(1) ?? []
  const where = line === undefined ? '' : ` It was stopped in line ${line}, column ${column}.`
  return SENTENCES[limit](limits, memoryMb) + where
}

export const unusableSentence = ([first]: readonly CodeIssue[]): string =>
  first === undefined
    ? 'The code cannot be used.'
    : `${first.message} (line ${first.line}, column ${first.column})`
