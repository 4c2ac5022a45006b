import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { icon } from '../../kit/icon.ts'
import { count } from '../../kit/numbers.ts'
import type { Diff, DiffLine } from './types.ts'

type Effect = 'reveals' | 'loses' | 'gains' | 'changes'

/** A sentence about a difference of access, in parts: levels and verbs, which are emphasized, and text between them. */
export interface Sentence {
  readonly effect: Effect
  readonly parts: readonly (string | { readonly strong: string })[]
  /** The containers that it is about, where they are many. */
  readonly each?: readonly string[]
}

/** Lines of a container that differ by permission only. */
interface Change extends DiffLine {
  readonly verbs: string
}

const RANK = { none: 0, redact: 1, mask: 2, reveal: 3 } as const
const ORDER: readonly Effect[] = ['reveals', 'loses', 'gains', 'changes']

const formatTokens = (lines: readonly DiffLine[]): string => {
  const tokens = lines.reduce((sum, line) => sum + line.tokens, 0)
  if (!lines.every(({ exact }) => exact)) return `more than ${count(tokens)} tokens`
  return `${count(tokens)} ${tokens === 1 ? 'token' : 'tokens'}`
}

export const containerLabel = (container: string): string =>
  container === '/' ? 'all containers' : container

/** Creating and deleting show nothing. */
const isSilent = (permission: string): boolean =>
  permission === 'token:create' || permission === 'token:delete'

const withinContainer = ({ container, permission, from, to, tokens, exact }: DiffLine): string =>
  isSilent(permission)
    ? `${permission} ${container} ${from === 'none'} ${to === 'none'}`
    : `${container} ${from} ${to} ${tokens} ${exact}`

const overContainers = ({ permission, verbs, from, to }: Change): string =>
  isSilent(permission) ? `${permission} ${from === 'none'} ${to === 'none'}` : `${verbs} ${from} ${to}`

/** A sentence about a change, the same in each container. */
const sentenceOf = (changes: readonly [Change, ...Change[]]): Sentence | undefined => {
  const [{ container, permission, verbs, from, to }] = changes
  const isCreate = permission === 'token:create'
  const gains = RANK[to] > RANK[from]
  const begin = { strong: gains ? 'gains' : 'loses' }
  const isOne = changes.length === 1
  const where = ` in ${isOne ? container : `${count(changes.length)} containers`}`
  const opened = isOne
    ? {}
    : { each: changes.map((one) => (isCreate ? one.container : `${one.container}: ${formatTokens([one])}`)) }
  if (isSilent(permission)) {
    if (from !== 'none' && to !== 'none') return undefined
    const what = isCreate ? `: new tokens${where}` : ` of ${formatTokens(changes)}${where}`
    return { effect: gains ? 'gains' : 'loses', parts: [begin, ' ', { strong: verbs }, what], ...opened }
  }
  const level = { strong: gains ? to : from }
  const other = gains ? from : to
  const rest = other === 'none' ? '' : gains ? `, had ${other}` : `, keeps ${other}`
  return {
    effect: gains ? (to === 'reveal' ? 'reveals' : 'gains') : 'loses',
    parts: [begin, ' ', level, ` on ${formatTokens(changes)}${where} (${verbs})${rest}`],
    ...opened,
  }
}

const verbsOf = (lines: readonly DiffLine[]): string =>
  [...new Set(lines.map(({ permission }) => permission.replace(/^token:/, '')))].join(', ')

/** The sentences of a difference, each about all containers with the same change: reveals, losses, other gains. */
export const sentencesOf = ({ data }: Diff): readonly Sentence[] => {
  const changes = [...Map.groupBy(data, withinContainer).values()].map(
    (lines): Change => ({ ...(lines[0] as DiffLine), verbs: verbsOf(lines) }),
  )
  return [...Map.groupBy(changes, overContainers).values()]
    .flatMap((same) => sentenceOf(same as [Change, ...Change[]]) ?? [])
    .toSorted((a, b) => ORDER.indexOf(a.effect) - ORDER.indexOf(b.effect))
}

/** `2 reveals, 1 loss, 4 gains`; `''` without sentences. */
const summaryOf = (sentences: readonly Sentence[]): string =>
  (
    [
      ['reveals', 'reveal', 'reveals'],
      ['loses', 'loss', 'losses'],
      ['gains', 'gain', 'gains'],
    ] as const
  )
    .flatMap(([effect, singular, plural]) => {
      const size = sentences.filter((sentence) => sentence.effect === effect).length
      return size === 0 ? [] : [`${count(size)} ${size === 1 ? singular : plural}`]
    })
    .join(', ')

const BADGES: Readonly<Record<Effect, TemplateResult | string>> = {
  reveals: html`${icon('up')} Reveal`,
  loses: html`${icon('down')} Loss`,
  gains: html`${icon('add')} Gain`,
  changes: 'Change',
}

const item = ({ effect, parts, each }: Sentence): TemplateResult => {
  const text = parts.map((part) => (typeof part === 'string' ? part : html`<strong>${part.strong}</strong>`))
  return html`<li class=${`sentence ${effect}`}>
    <span class="effect">${BADGES[effect]}</span>
    ${
      each === undefined
        ? html`<span>${text}</span>`
        : html`<details>
            <summary>${text}</summary>
            <ul class="plain">${each.map((line) => html`<li>${line}</li>`)}</ul>
          </details>`
    }
  </li>`
}

/** A list of differences; each is marked by a word, not by its colour alone. */
const sentenceList = (sentences: readonly Sentence[]): TemplateResult =>
  html`<ul class="sentences">${sentences.map(item)}</ul>`

export interface Differences {
  /** Differences of access to tokens, from the API. */
  readonly access: readonly Sentence[]
  /** Differences that do not concern access to tokens. */
  readonly changes: readonly Sentence[]
  /** Further containers may differ. */
  readonly more: boolean
  /** True for a management application, which sees no token. */
  readonly isManagement: boolean
}

export const differences = ({ access, changes, more, isManagement }: Differences): TemplateResult => html`
  ${isManagement ? nothing : html`<h3>On tokens</h3>`}
  ${
    access.length > 0
      ? html`<p role="status"><strong>${summaryOf(access)}</strong></p>
          ${sentenceList(access)}`
      : isManagement
        ? nothing
        : html`<p class="soft" role="status">Every token that exists is seen as before.</p>`
  }
  ${more ? html`<p>More containers may differ: the comparison ended after 1,000 lines or 200,000 tokens.</p>` : nothing}
  ${
    changes.length === 0
      ? nothing
      : html`<h3>${isManagement ? 'Changes' : 'Other changes'}</h3>
          ${sentenceList(changes)}`
  }
`
