import type { AppliedRule, RequestEntry } from '../../api/types.ts'
import { bytes, milliseconds } from '../../kit/numbers.ts'
import { STAGES } from './stages.ts'

export interface Step {
  readonly title: string
  readonly text: string
  readonly ms?: number
  /** `failed`: the call ended here. */
  readonly state: 'done' | 'failed'
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

const SENT = ['destination_unreachable', 'destination_timeout', 'bad_gateway', 'gateway_timeout']

const finalSteps = (call: RequestEntry): readonly Step[] => {
  const { outcome, status, destination_status, response_bytes, host } = call
  const size = response_bytes === undefined ? '' : ` with ${bytes(response_bytes)}`
  const to = host ?? 'the destination'
  if (call.kind === 'api')
    return [
      {
        title: 'Responded',
        text: `${decisionText(call)} Status ${status ?? 'unknown'}${size}.`.trim(),
        state: 'done',
      },
    ]
  const reached: readonly Step[] =
    destination_status === undefined
      ? []
      : [{ title: 'Destination', text: `${to} responded with ${destination_status}.`, state: 'done' }]
  if (outcome === 'forwarded')
    return [
      { title: 'Forwarded', text: `The request left for ${to}.`, state: 'done' },
      ...(reached.length > 0
        ? reached
        : [
            {
              title: 'Response',
              text: 'It passed from the destination to the caller without code, so that its status is not known here.',
              state: 'done' as const,
            },
          ]),
    ]
  const texts: Readonly<Record<string, string>> = {
    dry_run: 'This was a dry run: nothing was sent, and no value was opened.',
    interrupted: 'The caller closed the connection before the end.',
    opened: `The tunnel to ${to} is open: each request inside it is a call of its own.`,
    tunneled: `The connection to ${to} passes unopened.`,
  }
  const text = texts[outcome]
  return text === undefined
    ? [...reached, { title: 'Responded', text: `Status ${status ?? 'unknown'}${size}.`, state: 'done' }]
    : [{ title: 'Ended', text, state: outcome === 'interrupted' ? 'failed' : 'done' }]
}

/** Steps of a call in order, as far as its process recorded them. */
export const stepsOf = (call: RequestEntry): readonly Step[] => {
  const passed = Object.keys(STAGES).filter((name) => name in call.stages)
  const wasSent = call.code !== undefined && SENT.includes(call.code)
  const failedAt = call.code === undefined || wasSent ? undefined : passed.at(-1)
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
  const sent: readonly Step[] = wasSent
    ? [{ title: 'Destination', text: `${call.host ?? 'It'} did not respond as expected.`, state: 'failed' }]
    : []
  const isFailed = call.code !== undefined && !wasSent && !stages.some(({ state }) => state === 'failed')
  const last = finalSteps(call)
  return [
    receivedStep(call),
    ...stages,
    ...sent,
    ...(isFailed ? last.map((step) => ({ ...step, state: 'failed' as const })) : last),
  ]
}

/** `0.27 ms`, or nothing. */
export const stepTime = ({ ms }: Step): string => (ms === undefined ? '' : milliseconds(ms))
