import type { AppliedRule, RequestEntry } from '../../api/types.ts'
import { bytes, milliseconds } from '../../kit/numbers.ts'
import { STAGES } from './stages.ts'

export interface Step {
  readonly title: string
  readonly text: string
  readonly ms?: number
  /** `failed`: the call ended here. `open`: it is not known yet. */
  readonly state: 'done' | 'failed' | 'open'
}

const tokens = (count: number): string => (count === 1 ? '1 token' : `${count} tokens`)

const DISCLOSED = {
  none: 'granted by none',
  redact: 'without value',
  mask: 'masked',
  reveal: 'revealed',
} as const

const ruleText = ({
  permission,
  disclosure,
  description,
  priority,
  container,
  tokens: count,
}: AppliedRule): string => {
  if (disclosure === 'none') return `No rule and no permission grants ${permission}.`
  const name = description === undefined ? '' : ` “${description}”`
  const where = container === undefined ? '' : ` in ${container}`
  const by =
    priority === undefined
      ? `The permission ${permission} decided`
      : `Rule ${priority}${name} decided ${permission}`
  return `${by}${where}: ${tokens(count)} ${DISCLOSED[disclosure]}.`
}

/** Rules and permissions that decided about the tokens of a call. */
const decisionText = ({ rules }: RequestEntry): string => rules.map(ruleText).join(' ')

const TEXTS: Readonly<Record<string, (call: RequestEntry) => string>> = {
  authenticate: ({ application }) =>
    application === undefined
      ? 'The call was identified.'
      : `As the application “${application.name ?? application.id}”.`,
  plan: () => 'Expressions of the request were found and read.',
  use: (call) => `${decisionText(call)} Records were written, then values were opened.`.trim(),
  apply: () => 'Values took the places of their expressions.',
  transform: () => 'Code of the stored proxy ran in the sandbox.',
}

const FAILED: Readonly<Record<string, string>> = {
  authenticate: 'The caller was not identified, or may not call.',
  plan: 'An expression could not be read.',
  use: 'A token was not found, or the caller may not use it.',
  apply: 'An expression failed on its value.',
  transform: 'Code of the stored proxy failed.',
}

const receivedStep = ({ kind, method, route, request_bytes, node }: RequestEntry): Step => ({
  title: 'Received',
  text: `${kind === 'connect' ? '' : `${method} `}${route}${request_bytes === undefined ? '' : ` with ${bytes(request_bytes)}`}, by the process ${node}.`,
  state: 'done',
})

const ended = (title: string, text: string, isFailed = false): Step => ({
  title,
  text,
  state: isFailed ? 'failed' : 'done',
})

const why = ({ details }: RequestEntry): string => (details === undefined ? '' : ` Envoy says ${details}.`)

/** What the response guard found; a clean response is not worth a step. */
const guardSteps = ({ guard }: RequestEntry): readonly Step[] => {
  if (guard === undefined || guard === 'clean') return []
  const text =
    guard === 'unreadable'
      ? 'The response could not be searched for values of the request.'
      : `The response held values of the request: ${guard.replaceAll('=', ' ')}.`
  return [ended('Response guard', text, guard === 'blocked' || guard === 'unreadable')]
}

/** What became of a call behind its stages. */
const finalSteps = (call: RequestEntry): readonly Step[] => {
  const { outcome, status, destination_status, response_bytes, response_complete, host } = call
  const size = response_bytes === undefined ? '' : ` with ${bytes(response_bytes)}`
  const to = host ?? 'the destination'
  const response = `Status ${status ?? 'unknown'}${size}.`
  const forwarded = ended('Forwarded', `The request left for ${to}.`)
  switch (outcome) {
    case 'responded':
      return [ended('Responded', `${decisionText(call)} ${response}`.trim())]
    case 'sent':
      return [forwarded, { title: 'Response', text: 'It is not known yet how the call ends.', state: 'open' }]
    case 'answered':
      return [
        forwarded,
        ended('Destination', `${to} responded with ${destination_status ?? 'a status'}.`),
        ...guardSteps(call),
        response_complete === false
          ? ended('Response', `It broke off${size}.${why(call)}`, true)
          : ended('Response', response, call.code !== undefined),
      ]
    case 'unknown':
      return [
        forwarded,
        ended('Destination', `${to} may have received the request; no response came.${why(call)}`, true),
      ]
    case 'not_sent':
      return [
        ended(
          'Not sent',
          `No byte reached ${to}.${why(call)}${status === undefined ? '' : ` ${response}`}`,
          true,
        ),
      ]
    case 'dry_run':
      return [ended('Ended', 'This was a dry run: nothing was sent, and no value was opened.')]
    case 'opened':
      return [ended('Ended', `The tunnel to ${to} is open: each request inside it is a call of its own.`)]
    case 'tunneled':
      return [ended('Ended', `The connection to ${to} passes unopened.`)]
  }
}

/** Steps of a call in order, as far as its process recorded them. */
export const stepsOf = (call: RequestEntry): readonly Step[] => {
  const passed = Object.keys(STAGES).filter((name) => name in call.stages)
  // Envoy's details: all stages had passed.
  const isDenied = call.outcome === 'not_sent' && call.code !== undefined && call.details === undefined
  const failedAt = isDenied ? passed.at(-1) : undefined
  const stages = passed.map((name): Step => {
    const isFailed = name === failedAt && name in FAILED
    return {
      title: STAGES[name] ?? name,
      text: isFailed
        ? `${FAILED[name] ?? ''} ${name === 'use' ? decisionText(call) : ''}`.trim()
        : (TEXTS[name]?.(call) ?? ''),
      ms: call.stages[name] ?? 0,
      state: isFailed ? 'failed' : 'done',
    }
  })
  const isShown = stages.some(({ state }) => state === 'failed')
  const last = finalSteps(call).map((step) => (isShown ? { ...step, state: 'done' as const } : step))
  return [receivedStep(call), ...stages, ...last]
}

/** `0.27 ms`, or nothing. */
export const stepTime = ({ ms }: Step): string => (ms === undefined ? '' : milliseconds(ms))
