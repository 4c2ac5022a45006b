import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { Diff, DiffLine } from './types.ts'

type Effect = 'reveals' | 'loses' | 'gains' | 'changes'

/** A sentence about a difference of access, in parts: levels and verbs, which are emphasized, and text between them. */
export interface Sentence {
  readonly effect: Effect
  readonly parts: readonly (string | { readonly strong: string })[]
}

const RANK = { none: 0, redact: 1, mask: 2, reveal: 3 } as const
const ORDER: readonly Effect[] = ['reveals', 'loses', 'gains', 'changes']

const number = new Intl.NumberFormat('en')

const countOf = ({ tokens, exact }: DiffLine): string => {
  if (!exact) return `more than ${number.format(tokens)} tokens`
  return `${number.format(tokens)} ${tokens === 1 ? 'token' : 'tokens'}`
}

export const containerLabel = (container: string): string =>
  container === '/' ? 'all containers' : container

const verbOf = (permission: string): string => permission.replace(/^token:/, '')

/** Lines that differ by permission only are one sentence. Creating and deleting show nothing, so they stand alone. */
const groupOf = ({ container, permission, from, to, tokens, exact }: DiffLine): string =>
  permission === 'token:create' || permission === 'token:delete'
    ? `${permission} ${container} ${from === 'none'} ${to === 'none'}`
    : `${container} ${from} ${to} ${tokens} ${exact}`

const sentenceOf = (lines: readonly [DiffLine, ...DiffLine[]]): Sentence | undefined => {
  const [line] = lines
  const { container, permission, from, to } = line
  const gains = RANK[to] > RANK[from]
  const begin = { strong: gains ? 'gains' : 'loses' }
  const where = ` in ${container}`
  if (permission === 'token:create' || permission === 'token:delete') {
    if (from !== 'none' && to !== 'none') return undefined
    const verb = { strong: verbOf(permission) }
    const what = permission === 'token:create' ? `: new tokens${where}` : ` of ${countOf(line)}${where}`
    return { effect: gains ? 'gains' : 'loses', parts: [begin, ' ', verb, what] }
  }
  const level = { strong: gains ? to : from }
  const other = gains ? from : to
  const rest = other === 'none' ? '' : gains ? `, had ${other}` : `, keeps ${other}`
  const verbs = lines.map((line) => verbOf(line.permission)).join(', ')
  return {
    effect: gains ? (to === 'reveal' ? 'reveals' : 'gains') : 'loses',
    parts: [begin, ' ', level, ` on ${countOf(line)}${where} (${verbs})${rest}`],
  }
}

/** The sentences of a difference: reveals first, then losses, then other gains, each by container. */
export const sentencesOf = ({ data }: Diff): readonly Sentence[] => {
  const groups = Map.groupBy(data, groupOf)
  return [...groups.values()]
    .flatMap((lines) => sentenceOf(lines as [DiffLine, ...DiffLine[]]) ?? [])
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
      const count = sentences.filter((sentence) => sentence.effect === effect).length
      return count === 0 ? [] : [`${number.format(count)} ${count === 1 ? singular : plural}`]
    })
    .join(', ')

const BADGES: Readonly<Record<Effect, string>> = {
  reveals: '▲ Reveal',
  loses: '▼ Loss',
  gains: '+ Gain',
  changes: '• Change',
}

/** Sentences that are shown at once; others are behind a summary. */
const SHOWN = 12

const item = ({ effect, parts }: Sentence): TemplateResult => html`<li class=${`sentence ${effect}`}>
  <span class="effect">${BADGES[effect]}</span>
  <span>${parts.map((part) => (typeof part === 'string' ? part : html`<strong>${part.strong}</strong>`))}</span>
</li>`

/** A list of differences; each is marked by a word, not by its colour alone. */
const sentenceList = (sentences: readonly Sentence[]): TemplateResult => {
  const rest = sentences.slice(SHOWN)
  return html`<ul class="sentences">
      ${sentences.slice(0, SHOWN).map(item)}
    </ul>
    ${
      rest.length === 0
        ? nothing
        : html`<details>
            <summary>${rest.length} more</summary>
            <ul class="sentences">${rest.map(item)}</ul>
          </details>`
    }`
}

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
